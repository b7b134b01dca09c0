/** Lets Node load the TypeScript files of the project without a build, and without checking types: `node --require` this file. */
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

/** @type {import('@swc/core').Options} */
const OPTIONS = {
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
  // A .swcrc of the user does not apply.
  swcrc: false,
};

process.setSourceMapsEnabled(true);
// oxlint-disable-next-line typescript/no-deprecated -- module.registerHooks(), its successor, is not in Node 20.
require.extensions['.ts'] = compile;

/**
 * `_compile` is a method of Node's modules that its types leave out.
 *
 * @param {NodeJS.Module & { _compile?(code: string, filename: string): void }} module
 * @param {string} filename
 */
function compile(module, filename) {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...OPTIONS, filename });
  module._compile?.(code, filename);
}
