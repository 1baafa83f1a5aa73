package config

// Server is the file of whoever operates the bot: which judges exist and how they are reached. Credentials are never in
// it: a judge names the environment variable or file that holds its key.
type Server struct {
	Judges []JudgeConfig `yaml:"judges"`
}

// JudgeConfig is one judge.
type JudgeConfig struct {
	Name              string   `yaml:"name"`
	Adapter           string   `yaml:"adapter"` // openai | anthropic | command | static
	Family            string   `yaml:"family"`
	Provider          string   `yaml:"provider"` // default: the host of base_url, or the adapter's name
	Model             string   `yaml:"model"`
	BaseURL           string   `yaml:"base_url"`
	APIKeyEnv         string   `yaml:"api_key_env"`
	APIKeyFile        string   `yaml:"api_key_file"`
	Command           []string `yaml:"command"`     // argv of an agent CLI
	Env               []string `yaml:"env"`         // names of variables a command may see
	Timeout           Duration `yaml:"timeout"`     // 8m
	Concurrency       int      `yaml:"concurrency"` // 4
	MaxTokens         int      `yaml:"max_tokens"`  // of an answer
	Output            string   `yaml:"output"`      // auto | json_schema | json_object | text
	Price             *Price   `yaml:"price"`
	RequestsPerMinute int      `yaml:"requests_per_minute"`
	TokensPerMinute   int      `yaml:"tokens_per_minute"`
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
}
