package config

// Server is the file of whoever operates the bot: which judges exist and how they are reached. Credentials are never in
// it: a judge names the environment variable or file that holds its key.
type Server struct {
	// The judges, in the order in which they are tried. With none, the built-in static rules judge, and every output says
	// so. Default none.
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
	// The name of the judge, unique without regard to case. Policies and every report use it. Required.
	Name string `yaml:"name" check:"judge required"`
	// How the judge is reached. "openai" is any endpoint that speaks OpenAI's chat completions, "anthropic" is Anthropic's
	// messages, "command" runs a program that answers on its standard output, "static" is the built-in rules without a
	// model, and is only allowed alone. Required.
	Adapter string `yaml:"adapter" check:"enum=openai|anthropic|command|static required"`
	// The model family, as policies and attribution name it. Empty means unknown: such a judge does not serve where another
	// family than the builder's is required. Default none.
	Family string `yaml:"family" check:"family"`
	// Whose quota the judge shares: judges of one provider are passed over together when its credit is used up.
	// Default: the host of base_url, the name of a command judge's program, else the name of the adapter.
	Provider string `yaml:"provider" check:"word"`
	// The model's name at the provider. openai and anthropic require it. Default none.
	Model string `yaml:"model" check:"word"`
	// The URL of the API, up to what the adapter adds itself: openai adds /chat/completions, anthropic adds /v1/messages.
	// Its query may hold api-version and nothing else. A key is sent over http only to this machine or a private network.
	// Default: the provider's own API.
	BaseURL string `yaml:"base_url" check:"url"`
	// The name of the environment variable that holds the API key. It is never the key itself. Default none.
	APIKeyEnv string `yaml:"api_key_env" check:"env"`
	// The path of the file that holds the API key. It is never the key itself. Only one of api_key_env and api_key_file may
	// be given. Default none.
	APIKeyFile string `yaml:"api_key_file" check:"file"`
	// The program of a command judge, as an absolute path or a name that is looked up in PATH, and its arguments. It is
	// started without a shell, and required by that adapter. Default none.
	Command []string `yaml:"command" check:"arg"`
	// Names of environment variables that a command judge may see, besides PATH, the locale and the time zone. Its HOME is
	// an empty directory unless HOME is listed. Default none.
	Env []string `yaml:"env" check:"env unique"`
	// How long one answer may take. Default 8m; 1s to 30m.
	Timeout Duration `yaml:"timeout" check:"min=1s max=30m"`
	// How many questions the judge is asked at the same time. Default 4; 1 to 256.
	Concurrency int `yaml:"concurrency" check:"min=1 max=256"`
	// The most tokens an answer may have, a model's reasoning included. 0 leaves it to the adapter and the provider.
	// Default 0; 0 to 1000000.
	MaxTokens int `yaml:"max_tokens" check:"min=0 max=1000000"`
	// How the model is made to answer in JSON. "json_schema" and "json_object" are the provider's modes, "text" asks in
	// words only, "auto" uses the schema and falls back to words where the provider rejects it. The answer is validated in
	// any case. Default auto.
	Output string `yaml:"output" check:"enum=auto|json_schema|json_object|text"`
	// What the model costs, for the reports. A command reports no tokens and takes no price. Default: costs are not shown.
	Price *Price `yaml:"price"`
	// How many requests a minute the judge is sent at most. 0 means no limit. Default 0; 0 to 1000000.
	RequestsPerMinute int `yaml:"requests_per_minute" check:"min=0 max=1000000"`
	// How many tokens a minute the judge is sent at most, as estimated before the call. 0 means no limit. Default 0; 0 to
	// 1000000000.
	TokensPerMinute int `yaml:"tokens_per_minute" check:"min=0 max=1000000000"`
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	// US dollars for a million tokens that the model reads. Required; 0 to 100000.
	Input float64 `yaml:"input" check:"min=0 max=100000 required"`
	// US dollars for a million tokens that the model writes. Required; 0 to 100000.
	Output float64 `yaml:"output" check:"min=0 max=100000 required"`
}
