package config

// Server is the file of whoever operates the bot: which judges exist and how they are reached. Credentials are never in
// it: a judge names the environment variable or file that holds its key.
type Server struct {
	// The judges, in the order in which they are tried. With none, the built-in static rules judge, and every output says
	// so. Default none.
	Judges []JudgeConfig `yaml:"judges"`
	// How the App reaches GitHub, and proves what it is. Only prosecutor serve reads it.
	GitHub GitHubConfig `yaml:"github"`
	// Where the server listens. Only prosecutor serve reads it.
	HTTP HTTPConfig `yaml:"http"`
	// Where cases, jobs and ledgers are kept. Only prosecutor serve reads it.
	Database DatabaseConfig `yaml:"database"`
	// How many cases are judged at the same time. Default 8; 1 to 256.
	Workers int `yaml:"workers" check:"min=1 max=256"`
	// How the tests of a change are run for mutation testing (hollow_test.where: sandbox in a policy).
	HollowTest HollowTestServer `yaml:"hollow_test"`
}

// The settings of hollow_test.sandbox.
const (
	SandboxBubblewrap = "bubblewrap"
	SandboxNone       = "none"
)

// HollowTestServer is the operator's side of mutation testing.
type HollowTestServer struct {
	// What confines the tests of a change, which are code that nobody has judged yet. "bubblewrap" runs them without network,
	// on a read-only system; where it cannot, nothing runs and the evidence is unavailable. "none" runs them with the rights
	// of this process: anybody who can open a pull request runs code here. Default bubblewrap.
	Sandbox string `yaml:"sandbox" check:"enum=bubblewrap|none"`
	// How many changes are measured at the same time. Each uses every processor. Default 1; 1 to 16.
	Concurrency int `yaml:"concurrency" check:"min=1 max=16"`
	// The most time that one measurement gets, whatever hollow_test.budget of a policy says. Default 15m; 10s to 6h.
	MaxBudget Duration `yaml:"max_budget" check:"min=10s max=6h"`
}

// GitHubConfig is the App's side of GitHub. The names of the environment variables are Probot's.
type GitHubConfig struct {
	// The App's id. 0 takes it from the environment variable APP_ID. Default 0; 0 to 999999999999.
	AppID int `yaml:"app_id" check:"min=0 max=999999999999"`
	// The name of the environment variable that holds the App's private key: PEM, with its line breaks or with \n for them,
	// or base64 of it. Default PRIVATE_KEY.
	PrivateKeyEnv string `yaml:"private_key_env" check:"env"`
	// The path of the file that holds the App's private key. It is used before private_key_env. Default none.
	PrivateKeyFile string `yaml:"private_key_file" check:"file"`
	// The names of the environment variables that hold webhook secrets. Deliveries signed with any of them are accepted, so
	// that a secret can be changed without losing one. Default [WEBHOOK_SECRET].
	WebhookSecretEnv []string `yaml:"webhook_secret_env" check:"env nonempty unique"`
	// The URL of GitHub's REST API. On GitHub Enterprise Server it ends in /api/v3/, on ghe.com it is
	// https://api.TENANT.ghe.com/. Default https://api.github.com/.
	RESTURL string `yaml:"rest_url" check:"url"`
	// The URL of GitHub's GraphQL API. On GitHub Enterprise Server it ends in /api/graphql. Default
	// https://api.github.com/graphql.
	GraphQLURL string `yaml:"graphql_url" check:"url"`
	// The URL of GitHub's pages. Default https://github.com.
	HTMLURL string `yaml:"html_url" check:"url"`
	// How many writes a second each installation may make after a burst of 20. GitHub asks for one. Default 1; 0.1 to 1000.
	WriteRate float64 `yaml:"write_rate" check:"min=0.1 max=1000"`
}

// HTTPConfig is the HTTP server.
type HTTPConfig struct {
	// The address to listen on. Default :8080.
	Listen string `yaml:"listen" check:"text"`
	// How long a stop waits for running cases before it hands them back to the queue. Default 30s; 1s to 10m.
	Shutdown Duration `yaml:"shutdown" check:"min=1s max=10m"`
}

// DatabaseConfig says where cases, jobs and ledgers are kept.
type DatabaseConfig struct {
	// The name of the environment variable that holds the URL of a PostgreSQL database. While it is empty or not set, the
	// SQLite file is used. Default DATABASE_URL.
	URLEnv string `yaml:"url_env" check:"env"`
	// The SQLite file. Default prosecutor.db.
	File string `yaml:"file" check:"file"`
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
