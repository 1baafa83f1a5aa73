package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func dangerRules() []Rule {
	base := func(r Rule) Rule {
		r.Lens, r.Charge = prosecutor.Security, prosecutor.ChargeSecurity
		return r
	}
	return []Rule{
		base(Rule{
			ID: "tls-verification-off", Severity: prosecutor.High, Title: "Certificate checks switched off",
			Why:     "Without verification anyone on the path can read and change what is sent. High for a literal switch in product code; medium in scripts, build files and vendored code, and under a condition, where a setting decides; not asked of test code. A custom verifier beside it makes it low.",
			langs:   of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php, shell, dockerfile, yaml, makefile, c),
			needles: []string{"InsecureSkipVerify", "verify=False", "_create_unverified_context", "CERT_NONE", "rejectUnauthorized", "NODE_TLS_REJECT_UNAUTHORIZED", "VERIFY_NONE", "SSL_VERIFY", "danger_accept_invalid", "no-check-certificate", "--insecure", "curl", "sslVerify", "GIT_SSL_NO_VERIFY", "strict-ssl", "DangerousAcceptAny", "ServerCertificate", "NoopHostnameVerifier", "ALLOW_ALL_HOSTNAME", "verify_peer"},
			perFile: tlsOff,
		}),
		base(Rule{
			ID: "shell-injection", Severity: prosecutor.High, Title: "Shell command built from values",
			Why:     "A value spliced into a shell command runs as code when it holds a quote, a semicolon or a dollar sign. High where text is built right in the call in product code; medium in scripts and build files, and where a variable is handed to a shell; not asked of test code.",
			langs:   of(golang, python, javascript, java, kotlin, rust, ruby, php, c),
			needles: []string{"exec", "Exec", "Command", "shell=True", "os.system", "os.popen", "system(", "passthru", "popen", "%x", "spawn"},
			perFile: shellInjection,
		}),
		base(Rule{
			ID: "eval-input", Severity: prosecutor.High, Title: "Evaluating a value as code",
			Why:     "Whoever controls the value controls the program. High when the argument is plainly outside input; medium for any other value that is not a literal.",
			langs:   of(python, javascript, ruby, php),
			needles: []string{"eval", "exec(", "Function("},
			perFile: evalInput,
		}),
		base(Rule{
			ID: "unsafe-deserialization", Severity: prosecutor.Medium, Title: "Deserialization that can run code",
			Why:     "These formats can construct any object; with data from outside that is remote code execution.",
			langs:   of(python, php, ruby, java),
			needles: []string{"pickle.load", "yaml.load", "unserialize(", "Marshal.load", "marshal.load", "YAML.load", "jsonpickle.decode", "readObject("},
			perFile: deserialization,
		}),
		base(Rule{
			ID: "sql-built-from-text", Severity: prosecutor.Medium, Title: "SQL statement built from text",
			Why:     "A value formatted into a statement is not escaped. Parameters are; only identifiers need text, and those need a list of allowed names.",
			langs:   of(golang, python, javascript, java, kotlin, csharp, php, ruby),
			needles: []string{"SELECT ", "INSERT ", "UPDATE ", "DELETE ", "select ", "insert ", "update ", "delete "},
			perFile: sqlText,
		}),
		base(Rule{
			ID: "weak-permissions", Severity: prosecutor.Medium, Title: "World-writable permissions",
			Why:     "Any user of the machine may change the file. Low for modes that the umask still narrows.",
			langs:   of(golang, python, javascript, ruby, php, shell, dockerfile, yaml, makefile, c, rust, java),
			needles: []string{"0777", "0o777", "0666", "0o666", "777", "a+rwx", "o+w"},
			perFile: weakPermissions,
		}),
		base(Rule{
			ID: "remote-script", Severity: prosecutor.Medium, Title: "Downloaded script run unseen",
			Why:     "Whoever controls the server, or the path to it, runs code in the build. Download a fixed version and compare its checksum.",
			langs:   of(shell, dockerfile, yaml, makefile),
			needles: []string{"curl", "wget"},
			perFile: remoteScript,
		}),
		base(Rule{
			ID: "install-script", Severity: prosecutor.Medium, Title: "Package runs code on installation",
			Why:     "An install hook runs on every machine that installs the package, before anyone has called it.",
			needles: []string{`"preinstall"`, `"postinstall"`, `"install"`},
			perFile: installScript,
		}),
	}
}

var (
	tlsGo     = lazy(`\bInsecureSkipVerify\s*[:=]\s*true\b`)
	tlsPython = lazy(`(?:^|[^\w.])(?:requests|httpx|aiohttp|http|[\w.]*(?:session|client|Session\(\)))\.(?:get|post|put|patch|delete|head|options|request|send|stream|Client|AsyncClient)\(.*\bverify\s*=\s*False\b|\.verify\s*=\s*False\b|\bssl\._create_unverified_context\b|\bverify_mode\s*=\s*(?:ssl\.)?CERT_NONE\s*$|\w\(.*\bcert_reqs\s*=\s*["']?(?:ssl\.)?CERT_NONE["']?`)
	tlsPyPart = lazy(`^\s*verify\s*=\s*False\s*,?\s*\)?\s*$`)
	tlsJS     = lazy(`\brejectUnauthorized["']?\s*:\s*false\b|NODE_TLS_REJECT_UNAUTHORIZED["'\]]*\s*[:=]\s*["']?0`)
	tlsRuby   = lazy(`\bOpenSSL::SSL::VERIFY_NONE\b`)
	tlsPHP    = lazy(`\bCURLOPT_SSL_VERIFY(?:PEER|HOST)\b["']?\s*(?:,|=>)\s*(?:false|0)\b|["']verify_peer["']\s*=>\s*false`)
	tlsC      = lazy(`\bCURLOPT_SSL_VERIFY(?:PEER|HOST)\s*,\s*(?:0L?|false)\b|\bSSL_VERIFY_NONE\b`)
	tlsRust   = lazy(`\bdanger_accept_invalid_(?:certs|hostnames)\(\s*true\s*\)`)
	tlsJVM    = lazy(`\bNoopHostnameVerifier\.INSTANCE\b|\bALLOW_ALL_HOSTNAME_VERIFIER\b`)
	tlsCSharp = lazy(`\bDangerousAcceptAnyServerCertificateValidator\b|ServerCertificate(?:Custom)?ValidationCallback\s*\+?=\s*(?:\([^)]*\)|\w+|delegate)\s*(?:=>\s*)?\{?\s*(?:return\s+)?true`)
	tlsShell  = lazy(`\bcurl\b[^|;&]*\s(?:-[a-zA-Z]*k[a-zA-Z]*|--insecure)(?:\s|$)|\bwget\b[^|;&]*\s--no-check-certificate\b|\bhttp\.sslVerify[ =]false\b|\bGIT_SSL_NO_VERIFY=(?:1|true)\b|\bstrict-ssl[ =]false\b|\bNODE_TLS_REJECT_UNAUTHORIZED["']?\s*[=:]\s*["']?0`)
)

func tlsOff(s *scan, f *file) {
	if f.test || f.fixture || f.doc {
		return
	}
	s.added(f, func(i int, r *row) {
		severity := prosecutor.High
		var found bool
		switch f.lang {
		case golang:
			found = tlsGo().MatchString(r.code)
			if found && (s.near(f, i, "VerifyPeerCertificate") || s.near(f, i, "VerifyConnection")) {
				severity = prosecutor.Low
			}
		case python:
			found = tlsPython().MatchString(r.text) && !blank(r.code) && !strings.Contains(r.code, "def ")
			if !found && tlsPyPart().MatchString(r.code) && (s.near(f, i, "request") || s.near(f, i, "httpx") || s.near(f, i, "session")) {
				found, severity = true, prosecutor.Medium
			}
		case javascript:
			found = tlsJS().MatchString(r.text) && !blank(r.code)
		case ruby:
			found = tlsRuby().MatchString(r.code)
		case php:
			found = tlsPHP().MatchString(r.text)
		case c:
			found = tlsC().MatchString(r.code)
		case rust:
			found = tlsRust().MatchString(r.code)
		case java, kotlin:
			found = tlsJVM().MatchString(r.code)
		case csharp:
			found = tlsCSharp().MatchString(r.code)
		default:
			found = tlsShell().MatchString(r.text)
			severity = prosecutor.Medium
		}
		if !found {
			return
		}
		if severity == prosecutor.High && (isScript(f.path) || isVendored(f.path) || guarded(f.rows(), i)) {
			severity = prosecutor.Medium
		}
		s.hit(f, r, severity, "Certificate verification is switched off")
	})
}

var (
	condition = lazy(`^\s*(?:\}\s*)?(?:else\s+)?(?:if|elif|else|unless|case|when|default|switch)\b`)
	function  = lazy(`^\s*(?:[\w\s]*\s)?(?:func|def|fn|function|class)\b`)
)

// guarded reports whether row i stands under a condition in the same function, as far as the hunk shows it: the lines
// above it that are indented less.
func guarded(rows []row, i int) bool {
	depth := indent(rows[i].Text)
	for r, j := prevNew(rows, i); r != nil && depth > 0; r, j = prevNew(rows, j) {
		if len(r.Text) > MaxLine || blank(r.code) || indent(r.Text) >= depth {
			continue
		}
		depth = indent(r.Text)
		if condition().MatchString(r.code) {
			return true
		}
		if function().MatchString(r.code) {
			return false
		}
	}
	return false
}

// near reports whether the new side holds a word within a few rows of row i.
func (s *scan) near(f *file, i int, word string) bool {
	rows := f.rows()
	for j := max(0, i-8); j < min(len(rows), i+9); j++ {
		if rows[j].hunk == rows[i].hunk && rows[j].Op != '-' && strings.Contains(rows[j].text, word) {
			return true
		}
	}
	return false
}

var (
	shGoBuilt   = lazy(`\bexec\.Command(?:Context)?\([^"]*"(?:/bin/|/usr/bin/)?(?:ba|z)?sh",\s*"-[a-z]*c",\s*(?:fmt\.Sprintf\(|.*"\s*\+\s*[a-zA-Z_]|[a-zA-Z_][\w.\[\]]*\s*\+)|\bexec\.Command(?:Context)?\([^"]*"cmd(?:\.exe)?",\s*"/[cC]",\s*(?:fmt\.Sprintf\(|.*"\s*\+)`)
	shGoVar     = lazy(`\bexec\.Command(?:Context)?\([^"]*"(?:/bin/|/usr/bin/)?(?:ba|z)?sh",\s*"-[a-z]*c",\s*[a-zA-Z_][\w.\[\]()]*\s*\)`)
	shPySystem  = lazy(`\bos\.(?:system|popen)\(\s*(?:f["'].*\{|["'].*["']\s*(?:%|\+|\.format\()|\w+\s*\+)`)
	shPyTrue    = lazy(`\bsubprocess\.(?:run|call|check_call|check_output|Popen|getoutput)\(\s*(?:f["'].*\{|["'].*["']\s*(?:%|\+|\.format\()|\w+\s*\+).*\bshell\s*=\s*True`)
	shPyVar     = lazy(`\bsubprocess\.(?:run|call|check_call|check_output|Popen)\(\s*[a-zA-Z_][\w.]*\s*,.*\bshell\s*=\s*True`)
	shJS        = lazy("(?:^|[^.\\w]|child_process\\.|cp\\.)(?:exec|execSync)\\(\\s*(?:`[^`]*\\$\\{|[\"'][^\"']*[\"']\\s*\\+\\s*[a-zA-Z_$])")
	shJSSpawn   = lazy("\\bspawn(?:Sync)?\\(\\s*(?:`[^`]*\\$\\{|[\"'][^\"']*[\"']\\s*\\+).*\\bshell:\\s*true")
	shJava      = lazy(`\.exec\(\s*"[^"]*"\s*\+\s*\w|\bgetRuntime\(\)\.exec\(\s*(?:String\.format\(|\w+\s*\+)|"(?:ba)?sh"\s*,\s*"-c"\s*,\s*(?:"[^"]*"\s*\+|String\.format\()`)
	shRust      = lazy(`Command::new\("(?:/bin/)?(?:ba)?sh"\).*\.arg\("-c"\)\.arg\((?:&?format!\()`)
	shRuby      = lazy("(?:^|[^.\\w])(?:system|exec|spawn)[( ]\\s*\"[^\"]*#\\{|`[^`]*#\\{|%x[({\\[][^)}\\]]*#\\{|\\bOpen3\\.\\w+\\(\\s*\"[^\"]*#\\{")
	shPHP       = lazy(`(?:^|[^>:\w$])(?:shell_exec|exec|system|passthru|popen|proc_open)\(\s*(?:"[^"]*\$|["'][^"']*["']\s*\.\s*\$|\$_(?:GET|POST|REQUEST|COOKIE))`)
	shC         = lazy(`(?:^|[^.\w>])(?:system|popen)\(\s*(?:\w+\.c_str\(\)|\(?\s*"[^"]*"\s*\+)`)
	phpEscaped  = lazy(`\bescapeshell(?:arg|cmd)\(`)
	rubyEscaped = lazy(`\b(?:shellescape|Shellwords)\b`)
	pyEscaped   = lazy(`\bshlex\.(?:quote|join)\(`)
)

func shellInjection(s *scan, f *file) {
	if f.test || f.fixture || f.doc {
		return
	}
	s.added(f, func(_ int, r *row) {
		if blank(r.code) {
			return
		}
		built, variable := false, false
		switch f.lang {
		case golang:
			built, variable = shGoBuilt().MatchString(r.text), shGoVar().MatchString(r.text)
		case python:
			if pyEscaped().MatchString(r.text) {
				return
			}
			built, variable = shPySystem().MatchString(r.text) || shPyTrue().MatchString(r.text), shPyVar().MatchString(r.text)
		case javascript:
			built = shJS().MatchString(r.text) || shJSSpawn().MatchString(r.text)
			if built && !f.contains("child_process") {
				built, variable = false, true // it may be a function that starts no shell
			}
		case java, kotlin:
			built = shJava().MatchString(r.text)
		case rust:
			built = shRust().MatchString(r.text)
		case ruby:
			variable = shRuby().MatchString(r.text) && !rubyEscaped().MatchString(r.text)
		case php:
			built = shPHP().MatchString(r.text) && !phpEscaped().MatchString(r.text)
		case c:
			variable = shC().MatchString(r.text)
		}
		switch {
		case built && !isScript(f.path) && !isVendored(f.path):
			s.hit(f, r, prosecutor.High, "A shell command is put together from values in the call")
		case built:
			s.hit(f, r, prosecutor.Medium, "A shell command is put together from values in the call")
		case variable:
			s.hit(f, r, prosecutor.Medium, "A value is handed to a shell as a command")
		}
	})
}

var (
	evalPython = lazy(`(?:^|[^.\w])(?:eval|exec)\(\s*([^"')\s][^)]*)`)
	evalJS     = lazy(`(?:^|[^.\w$]|window\.|globalThis\.)eval\(\s*([^"')\s][^)]*)|\bnew Function\(\s*([^"')\s][^)]*)`)
	evalRuby   = lazy(`(?:^|[^.\w])(?:eval|instance_eval|class_eval)\(?\s*((?:params|request|ENV|ARGV|gets|cookies)\b[^)]*)|(?:^|[^.\w])eval\(\s*([^"')\s:][^)]*)`)
	evalPHP    = lazy(`(?:^|[^>:\w$])eval\(\s*(\$[^)]*)`)
	outside    = lazy(`(?i)\b(?:request|req|params|query|event)\s*(?:\.|\[)|\binput\(|\bsys\.argv|\bprocess\.argv|\$_(?:GET|POST|REQUEST|COOKIE|SERVER)|\bARGV\b|\blocation\.(?:hash|search|href)|\bcookies?\s*(?:\.|\[)`)
	evalDef    = lazy(`\b(?:def|function|func|fn)\s+(?:eval|exec)\b`)
)

func evalInput(s *scan, f *file) {
	if f.test || f.fixture || f.doc || isVendored(f.path) {
		return
	}
	s.added(f, func(_ int, r *row) {
		var m []string
		switch f.lang {
		case python:
			m = evalPython().FindStringSubmatch(r.code)
		case javascript:
			m = evalJS().FindStringSubmatch(r.code)
		case ruby:
			m = evalRuby().FindStringSubmatch(r.code)
		case php:
			m = evalPHP().FindStringSubmatch(r.code)
		}
		if m == nil || evalDef().MatchString(r.code) {
			return
		}
		if outside().MatchString(strings.Join(m[1:], " ")) {
			s.hit(f, r, prosecutor.High, "Input from outside is evaluated as code")
			return
		}
		s.hit(f, r, prosecutor.Medium, "A value is evaluated as code")
	})
}

var (
	deserPython = lazy(`\b(?:c?[pP]ickle|dill|marshal)\.loads?\(|\bjsonpickle\.decode\(|\byaml\.load(?:_all)?\(`)
	safeLoader  = lazy(`\b(?:C?SafeLoader|C?BaseLoader)\b|\bFullLoader\b`)
	deserPHP    = lazy(`(?:^|[^>:\w])unserialize\(\s*\$`)
	deserRuby   = lazy(`\bMarshal\.load\(|\bYAML\.load\(`)
	deserJava   = lazy(`\bnew ObjectInputStream\(|\.readObject\(\)`)
)

func deserialization(s *scan, f *file) {
	if f.test || f.fixture || f.doc {
		return
	}
	s.added(f, func(_ int, r *row) {
		found := false
		switch f.lang {
		case python:
			found = deserPython().MatchString(r.code) && !safeLoader().MatchString(r.code)
			if found && strings.Contains(r.code, "yaml.load") && !strings.Contains(r.code, ")") {
				found = false // the loader may stand on the next line
			}
		case php:
			found = deserPHP().MatchString(r.code) && !strings.Contains(r.code, "allowed_classes")
		case ruby:
			found = deserRuby().MatchString(r.code)
		case java:
			found = deserJava().MatchString(r.code) && !strings.Contains(r.code, "void readObject")
		}
		if found {
			s.hit(f, r, prosecutor.Medium, "Data is read in a format that can run code")
		}
	})
}

var (
	sqlCall = lazy(`(?i)\b(?:execute|executemany|query|queryrow|querycontext|queryrowcontext|exec|execcontext|prepare|raw|executequery|executeupdate|createquery|createnativequery|rawquery|select|get)\s*\(`)
	sqlGo   = lazy("\\b(?:Query|QueryRow|Exec|Prepare|Raw)(?:Context)?\\((?:ctx,\\s*|context\\.\\w+\\(\\),\\s*)?(?:fmt\\.Sprintf\\(\\s*[\"`](?i:select|insert|update|delete)\\s[^\"`]*%[svqd]|[\"`](?i:select|insert|update|delete)\\s[^\"`]*[\"`]\\s*\\+)")
	sqlPy   = lazy(`\.(?:execute|executemany|raw)\(\s*(?:text\(\s*)?(?:f["']{1,3}\s*(?i:select|insert|update|delete)\s.*\{|["']{1,3}\s*(?i:select|insert|update|delete)\s[^"']*["']{1,3}\s*(?:%\s*[\w(]|\+|\.format\())`)
	sqlJS   = lazy("\\.(?:query|execute|raw|exec|prepare|\\$queryRawUnsafe|\\$executeRawUnsafe)\\(\\s*(?:`\\s*(?i:select|insert|update|delete)\\s[^`]*\\$\\{|[\"'](?i:select|insert|update|delete)\\s[^\"']*[\"']\\s*\\+)")
	sqlJVM  = lazy(`\.(?:executeQuery|executeUpdate|execute|prepareStatement|createQuery|createNativeQuery|rawQuery|ExecuteReader|ExecuteNonQuery|FromSqlRaw)\(\s*(?:\$?"(?i:select|insert|update|delete)\s[^"]*(?:"\s*\+|\$?\{)|String\.format\(\s*"(?i:select|insert|update|delete)\s)`)
	sqlPHP  = lazy(`(?:->|::|mysqli_)(?:query|exec|prepare|select|statement)\(\s*(?:\$\w+\s*,\s*)?(?:"(?i:select|insert|update|delete)\s[^"]*\$|["'](?i:select|insert|update|delete)\s[^"']*["']\s*\.\s*\$)`)
	sqlRuby = lazy(`\.(?:execute|exec_query|find_by_sql|select_all)\(?\s*"(?i:select|insert|update|delete)\s[^"]*#\{`)
)

func sqlText(s *scan, f *file) {
	if f.test || f.fixture || f.doc || isScript(f.path) || isVendored(f.path) {
		return
	}
	s.added(f, func(_ int, r *row) {
		if !sqlCall().MatchString(r.code) {
			return
		}
		found := false
		switch f.lang {
		case golang:
			found = sqlGo().MatchString(r.text)
		case python:
			found = sqlPy().MatchString(r.text)
		case javascript:
			found = sqlJS().MatchString(r.text)
		case java, kotlin, csharp:
			found = sqlJVM().MatchString(r.text)
		case php:
			found = sqlPHP().MatchString(r.text)
		case ruby:
			found = sqlRuby().MatchString(r.text)
		}
		if found {
			s.hit(f, r, prosecutor.Medium, "A value is formatted into a SQL statement")
		}
	})
}

var (
	permCall  = lazy(`\b(?i:chmod|fchmod|set_mode|from_mode|chmodSync)\(.*\b(?:0o?777|0o?666)\b`)
	permMake  = lazy(`\b(?:Mkdir|MkdirAll|OpenFile|WriteFile|makedirs|mkdir|mkdirSync|writeFile)\(.*\b0o?777\b`)
	permShell = lazy(`\bchmod\s+(?:-[a-zA-Z]+\s+)*(?:0?777|a\+rwx|o\+w|ugo\+rwx|666)\b`)
)

func weakPermissions(s *scan, f *file) {
	if f.test || f.fixture || f.doc || isVendored(f.path) {
		return
	}
	s.added(f, func(_ int, r *row) {
		switch f.lang {
		case shell, dockerfile, yaml, makefile:
			if permShell().MatchString(r.text) {
				s.hit(f, r, prosecutor.Medium, "A file is made writable for everyone")
			}
		default:
			if permCall().MatchString(r.code) {
				s.hit(f, r, prosecutor.Medium, "A file is made writable for everyone")
			} else if permMake().MatchString(r.code) {
				s.hit(f, r, prosecutor.Low, "A file is created writable for everyone, as far as the umask allows")
			}
		}
	})
}

var (
	pipedShell = lazy(`\b(?:curl|wget)\b[^|;&]*https?://[^|;&]*\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:/bin/|/usr/bin/)?(?:ba|z|da)?sh\b|\b(?:ba|z)?sh\s+(?:-c\s+)?["']?(?:<\(|\$\()\s*(?:curl|wget)\b|\b(?:curl|wget)\b[^|;&]*https?://[^|;&]*\|\s*(?:sudo\s+)?(?:python3?|node|perl|ruby)\b(?:\s+-)?\s*$`)
)

func remoteScript(s *scan, f *file) {
	if f.fixture || f.doc {
		return
	}
	s.added(f, func(_ int, r *row) {
		if t := strings.TrimSpace(r.text); strings.HasPrefix(t, "echo ") || strings.HasPrefix(t, "printf ") {
			return
		}
		if pipedShell().MatchString(r.text) {
			s.hit(f, r, prosecutor.Medium, "A script is downloaded and run without being looked at or checked")
		}
	})
}

var installHook = lazy(`^\s*"(?:pre|post)?install"\s*:\s*"[^"]+"`)

func installScript(s *scan, f *file) {
	if !strings.HasSuffix(f.path, "package.json") || f.fixture || isVendored(f.path) {
		return
	}
	rows := f.rows()
	for i := range rows {
		if r := &rows[i]; r.Op == '+' && len(r.Text) <= MaxLine && installHook().MatchString(r.Text) {
			s.hit(f, r, prosecutor.Medium, "The package gets a script that runs on installation")
		}
	}
}
