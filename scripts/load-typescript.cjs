// Lets node load the project's TypeScript where it lies (types are checked elsewhere): `node --require` this file.
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

const OPTIONS = {
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
  // Else a .swcrc of the person who runs it would be read.
  swcrc: false,
};

process.setSourceMapsEnabled(true);
require.extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...OPTIONS, filename });
  module._compile(code, filename);
};
