package config

// Server is the file of whoever operates the bot: which judges exist and how they are reached. Credentials are never in
// it: a judge names the environment variable or file that holds its key.
type Server struct {
	// The judges, in the order in which they are tried. With none, the built-in static rules judge, and every output says
	// so.
	Judges []JudgeConfig `yaml:"judges"`
}

// The adapters: how a judge is reached.
const (
	AdapterOpenAI    = "openai"    // any endpoint that speaks OpenAI's chat completions
	AdapterAnthropic = "anthropic" // Anthropic's messages
	AdapterCommand   = "command"   // an agent's command line
	AdapterStatic    = "static"    // the built-in rules, no model
)

// The settings of output: how an answer is asked to be JSON.
const (
	OutputAuto       = "auto"
	OutputJSONSchema = "json_schema"
	OutputJSONObject = "json_object"
	OutputText       = "text"
)

// JudgeConfig is one judge.
type JudgeConfig struct {
	// The name of the judge, unique without regard to case. Policies and every report use it.
	Name string `yaml:"name" check:"judge required"`
	// How the judge is reached. "openai" is any endpoint that speaks OpenAI's chat completions, "anthropic" is Anthropic's
	// messages, "command" runs a program that answers on its standard output, "static" is the built-in rules without a
	// model, and is only allowed alone.
	Adapter string `yaml:"adapter" check:"enum=openai|anthropic|command|static required"`
	// The model family, as policies and attribution name it. Empty means unknown: such a judge does not serve where another
	// family than the builder's is required.
	Family string `yaml:"family" check:"family"`
	// Whose quota the judge shares: judges of one provider are passed over together when its credit is used up. When
	// absent, the host of base_url, else the name of the adapter.
	Provider string `yaml:"provider" check:"word"`
	// The model's name at the provider. Required by openai and anthropic.
	Model string `yaml:"model" check:"word"`
	// The URL of the API, up to what the adapter adds itself: openai adds /chat/completions, anthropic adds /v1/messages.
	// When absent, the provider's own. A key is sent over http only to this machine or a private network.
	BaseURL string `yaml:"base_url" check:"url"`
	// The name of the environment variable that holds the API key. It is never the key itself.
	APIKeyEnv string `yaml:"api_key_env" check:"env"`
	// The path of the file that holds the API key. It is never the key itself. Only one of api_key_env and api_key_file may
	// be given.
	APIKeyFile string `yaml:"api_key_file" check:"file"`
	// The program of a command judge and its arguments. It is started without a shell.
	Command []string `yaml:"command" check:"arg"`
	// Names of environment variables that a command judge may see. It sees no others but PATH and HOME.
	Env []string `yaml:"env" check:"env unique"`
	// How long one answer may take.
	Timeout Duration `yaml:"timeout" check:"min=1s max=30m"`
	// How many questions the judge is asked at the same time.
	Concurrency int `yaml:"concurrency" check:"min=1 max=256"`
	// The most tokens an answer may have, a model's reasoning included.
	MaxTokens int `yaml:"max_tokens" check:"min=256 max=1000000"`
	// How the model is made to answer in JSON. "json_schema" and "json_object" are the provider's modes, "text" uses none,
	// "auto" tries them in this order. The answer is validated in any case.
	Output string `yaml:"output" check:"enum=auto|json_schema|json_object|text"`
	// What the model costs, for the reports. When absent, costs are not shown.
	Price *Price `yaml:"price"`
	// How many requests a minute the judge is sent at most. 0 means no limit.
	RequestsPerMinute int `yaml:"requests_per_minute" check:"min=0 max=1000000"`
	// How many tokens a minute the judge is sent at most, as estimated before the call. 0 means no limit.
	TokensPerMinute int `yaml:"tokens_per_minute" check:"min=0 max=1000000000"`
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	// US dollars for a million tokens that the model reads.
	Input float64 `yaml:"input" check:"min=0 max=100000 required"`
	// US dollars for a million tokens that the model writes.
	Output float64 `yaml:"output" check:"min=0 max=100000 required"`
}
