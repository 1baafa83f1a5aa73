// Notes what a test file runs of the mutated files, and whether it starts processes or threads, where that is not seen.
'use strict';
const log = process.env.PROSECUTOR_WATCH;
const { isMainThread } = require('worker_threads');
if (log && !isMainThread) {
  const fs = require('fs');
  const inspector = require('inspector');
  const { fileURLToPath } = require('url');
  delete process.env.PROSECUTOR_WATCH;
  const say = (record) => fs.appendFileSync(log, JSON.stringify(record) + '\n');
  const watch = (module, names) => {
    for (const name of names) {
      const real = module[name];
      if (typeof real !== 'function') continue;
      if (name === 'Worker') {
        module[name] = class extends real {
          constructor(...args) {
            say({ opaque: name });
            super(...args);
          }
        };
      } else {
        module[name] = function (...args) {
          say({ opaque: name });
          return real.apply(this, args);
        };
      }
    }
  };
  watch(require('child_process'), ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork']);
  watch(require('worker_threads'), ['Worker']);
  watch(require('cluster'), ['fork']);
  watch(require('module'), ['register']);
  require('module').syncBuiltinESMExports();

  const session = new inspector.Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  process.on('exit', () => {
    session.post('Profiler.takePreciseCoverage', (error, result) => {
      if (error) return;
      const coverage = {};
      for (const script of result.result) {
        let name;
        try {
          name = script.url.startsWith('file:') ? fileURLToPath(script.url.replace(/[?#].*$/, '')) : script.url;
          name = fs.realpathSync(name);
        } catch {
          continue;
        }
        if (name.includes('/node_modules/')) continue;
        (coverage[name] = coverage[name] || []).push(script.functions.map((f) => ({ ranges: f.ranges })));
      }
      say({ coverage });
    });
  });
}
