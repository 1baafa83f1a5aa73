# Reads a list of candidates and says which of them are programs. It compiles and runs none of them.
require "json"

def passes?(name)
  RubyVM::InstructionSequence.compile(File.read(name, encoding: "UTF-8"), name)
  true
rescue SyntaxError, EncodingError
  false
end

$VERBOSE = nil
known = {}
results = JSON.parse(File.read(ARGV[0])).map do |item|
  known[item["path"]] = passes?(item["original"]) unless known.key?(item["path"])
  next "unknown" unless known[item["path"]]

  passes?(item["mutant"]) ? "ok" : "invalid"
end
File.write(ARGV[1], JSON.generate(results))
