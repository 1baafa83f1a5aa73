// Reads a list of candidates and says which of them are programs. It parses and runs none of them.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { createRequire, stripTypeScriptTypes } = require('module');

const list = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

function asScript(source) {
  new vm.Script('(function (exports, require, module, __filename, __dirname) {' + source.replace(/^#!.*/, '') + '\n})');
}

function asModule(source) {
  new vm.SourceTextModule(source.replace(/^#!.*/, ''));
}

function passes(parse, source) {
  try {
    parse(source);
    return true;
  } catch {
    return false;
  }
}

function fromTree(name, file) {
  try {
    return createRequire(file)(name);
  } catch {
    return undefined;
  }
}

// The parser of a file is the one that its original passes.
function parserOf(item, original) {
  const ext = path.extname(item.path);
  const parsers = [];
  if (['.js', '.cjs'].includes(ext)) parsers.push(asScript);
  if (['.js', '.mjs'].includes(ext)) parsers.push(asModule);
  const ts = ext === '.mjs' || ext === '.cjs' ? undefined : fromTree('typescript', item.path);
  if (ts && ts.createSourceFile) {
    const kinds = { '.ts': ts.ScriptKind.TS, '.mts': ts.ScriptKind.TS, '.cts': ts.ScriptKind.TS, '.tsx': ts.ScriptKind.TSX };
    const kind = kinds[ext] === undefined ? ts.ScriptKind.JSX : kinds[ext];
    parsers.push((source) => {
      const parsed = ts.createSourceFile(item.path, source, ts.ScriptTarget.Latest, false, kind);
      if (parsed.parseDiagnostics.length > 0) throw new SyntaxError('it does not parse');
    });
  }
  const babel = fromTree('@babel/parser', item.path);
  if (babel && babel.parse) {
    const plugins = ['jsx', 'decorators-legacy'].concat(/\.[mc]?tsx?$/.test(ext) ? ['typescript'] : []);
    parsers.push((source) => {
      babel.parse(source, { sourceType: 'unambiguous', plugins: ext === '.ts' ? plugins.filter((p) => p !== 'jsx') : plugins });
    });
  }
  if (stripTypeScriptTypes && ['.ts', '.mts', '.cts'].includes(ext)) {
    parsers.push((source) => {
      stripTypeScriptTypes(source, { mode: 'transform' });
    });
  }
  return parsers.find((parse) => passes(parse, original));
}

const parsers = new Map();
const results = list.map((item) => {
  if (!parsers.has(item.path)) parsers.set(item.path, parserOf(item, fs.readFileSync(item.original, 'utf8')));
  const parse = parsers.get(item.path);
  if (!parse) return 'unknown';
  return passes(parse, fs.readFileSync(item.mutant, 'utf8')) ? 'ok' : 'invalid';
});
fs.writeFileSync(process.argv[3], JSON.stringify(results));
