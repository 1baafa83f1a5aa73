// Runs the test files of a repository against many mutants in one process. Every run of a test file is a worker thread:
// its modules are loaded anew from the disk, where the mutated file is meanwhile, and ending it ends any loop.
'use strict';
const fs = require('fs');
const path = require('path');
const { Worker } = require('worker_threads');

const spec = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const out = fs.openSync(spec.out, 'a');
const say = (record) => fs.writeSync(out, JSON.stringify(record) + '\n');

const watched = path.join(__dirname, 'watch.cjs');

// TAP, as node's own runner writes it.
const tests = (tap) => {
  const found = /^# tests (\d+)$/m.exec(tap);
  return found ? Number(found[1]) : -1;
};
const failing = (tap) => {
  const found = /^\s*not ok \d+ - (.*?)(?: # .*)?$/m.exec(tap);
  return found ? found[1] : '';
};

// Ends a test file that takes longer than wall, or uses the processor longer than processor, in milliseconds.
function runFile(file, wall, processor, watch) {
  return new Promise((resolve) => {
    const begun = process.hrtime.bigint();
    const before = process.cpuUsage();
    const used = () => {
      const now = process.cpuUsage(before);
      return (now.user + now.system) / 1000;
    };
    let tap = '';
    let ended = '';
    let problem = '';
    const worker = new Worker(file, {
      stdout: true,
      stderr: true,
      stdin: false,
      env: { ...process.env, ...(watch ? { PROSECUTOR_WATCH: watch } : {}) },
      argv: [],
      execArgv: watch ? ['--require', watched] : [],
      resourceLimits: { maxOldGenerationSizeMb: spec.heap },
    });
    const keep = (data) => {
      if (tap.length < 4 << 20) tap += data;
    };
    worker.stdout.setEncoding('utf8').on('data', keep);
    worker.stderr.resume();
    const timer = setTimeout(() => {
      ended = 'time';
      worker.terminate();
    }, wall);
    const watching = setInterval(() => {
      if (!processor || ended || used() < processor) return;
      ended = 'processor';
      worker.terminate();
    }, 50);
    worker.on('error', (error) => {
      if (error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') ended = ended || 'memory';
      else problem = String((error && error.message) || error).split('\n')[0];
    });
    worker.on('exit', (code) => {
      clearTimeout(timer);
      clearInterval(watching);
      // The last output may still be on its way.
      setImmediate(() => {
        const ms = Number(process.hrtime.bigint() - begun) / 1e6;
        const n = tests(tap);
        let result = 'nothing';
        if (ended) result = ended;
        else if (code !== 0 || problem) result = 'failed';
        else if (n >= 0) result = 'passed';
        resolve({ result, tests: n, name: failing(tap) || problem, ms, cpu: used() });
      });
    });
  });
}

function put(file, content) {
  const temporary = file + '.prosecutor';
  fs.writeFileSync(temporary, content, { mode: fs.statSync(file).mode & 0o777 });
  fs.renameSync(temporary, file);
}

// The offsets of a file that ran: the innermost range around one tells how often it did.
function counts(functions, offset) {
  let best;
  for (const f of functions) {
    for (const range of f.ranges) {
      if (range.startOffset <= offset && offset < range.endOffset && (!best || range.endOffset - range.startOffset <= best.endOffset - best.startOffset)) best = range;
    }
  }
  return best ? best.count : 0;
}

async function record() {
  const files = spec.files;
  const seen = [];
  for (let i = 0; i < files.length; i++) {
    const log = `${spec.out}.watch-${i}`;
    const first = await runFile(files[i], spec.wall, 0, log);
    const second = await runFile(files[i], spec.wall, 0, '');
    let coverage = {};
    let opaque = true;
    try {
      const lines = fs.readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
      const last = lines.find((line) => line.coverage);
      opaque = !last || lines.some((line) => line.opaque);
      if (last) coverage = last.coverage;
    } catch {
      opaque = true;
    }
    seen.push({ first, second, coverage, opaque });
  }
  const reach = {};
  for (const m of spec.mutants) {
    const file = fs.realpathSync(path.join(spec.tree, m.path));
    reach[m.id] = [];
    seen.forEach((s, i) => {
      const scripts = s.coverage[file];
      if (s.opaque || (scripts && scripts.some((functions) => counts(functions, m.offset) > 0))) reach[m.id].push(i);
    });
  }
  say({
    kind: 'record',
    ok: true,
    names: files.map((f) => path.relative(spec.tree, f)),
    took: seen.map((s) => s.second.ms / 1000),
    used: seen.map((s) => s.second.cpu / 1000),
    tests: seen.map((s) => s.second.tests),
    red: [seen.flatMap((s, i) => (s.first.result === 'passed' ? [] : [path.relative(spec.tree, files[i])])), seen.flatMap((s, i) => (s.second.result === 'passed' ? [] : [path.relative(spec.tree, files[i])]))],
    reach,
    late: [],
  });
}

async function mutate() {
  for (const m of spec.mutants) {
    say({ kind: 'start', id: m.id });
    const begun = process.hrtime.bigint();
    const file = path.join(spec.tree, m.path);
    const original = fs.readFileSync(file);
    let result = 'passed';
    let name = '';
    put(file, fs.readFileSync(m.source));
    try {
      for (const i of m.tests) {
        // What uses much more of the processor than without the mutant hangs. What only takes longer may have been kept
        // waiting, and gets another chance.
        const wall = Math.max(2000, 10000 * spec.took[i] + 1000);
        const processor = Math.max(700, 10000 * spec.used[i]);
        let run = await runFile(spec.files[i], wall, processor, '');
        if (run.result === 'time') run = await runFile(spec.files[i], 3 * wall, processor, '');
        if (run.result === 'passed' && run.tests !== spec.counts[i]) run.result = 'nothing';
        if (run.result !== 'passed') {
          result = run.result;
          name = path.relative(spec.tree, spec.files[i]) + (run.name ? ' > ' + run.name : '');
          break;
        }
      }
    } finally {
      put(file, original);
    }
    say({ kind: 'result', id: m.id, result, test: name, ms: Math.round(Number(process.hrtime.bigint() - begun) / 1e6) });
  }
  say({ kind: 'end' });
}

process.chdir(spec.tree);
(spec.mode === 'record' ? record() : mutate()).then(() => process.exit(0), (error) => {
  process.stderr.write(String(error && error.stack) + '\n');
  process.exit(70);
});
