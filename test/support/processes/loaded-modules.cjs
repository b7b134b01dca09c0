/** Writes the files of all loaded modules to the file LOADED_MODULES, as JSON, when the process ends that it is preloaded into (`node --require`). */
'use strict';

const { writeFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const { LOADED_MODULES: file } = process.env;

if (isMainThread && file !== undefined) {
  process.on('exit', () => {
    writeFileSync(file, JSON.stringify(Object.keys(require.cache)));
  });
}
