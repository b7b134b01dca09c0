// How jest runs the tests: TypeScript through swc (types are checked by their own stage), one stage per folder.
module.exports = {
  testEnvironment: '<rootDir>/scripts/test/jest/process-environment.cjs',
  runtime: '<rootDir>/scripts/test/jest/process-runtime.cjs',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } }],
    // jose has only ES modules, which jest does not load.
    '/node_modules/jose/.+\\.js$': ['@swc/jest', { jsc: { target: 'es2022' }, module: { type: 'commonjs' } }],
  },
  // Modules that src/ imports on demand have the name of their compiled file.
  moduleNameMapper: { '^(\\.{1,2}/(?:[\\w-]+/|\\.\\./)*(?:open-[\\w-]+|mogrifier|credential-files|control-file))\\.js$': '$1' },
  // A test file runs in a context whose globals are slow to look up: these, which loops use, are parameters of each module instead.
  sandboxInjectedGlobals: ['Math', 'Number', 'BigInt', 'String', 'Object', 'Array', 'Map', 'Set', 'JSON', 'Error'],
  transformIgnorePatterns: ['/node_modules/(?!jose/)'],
  // A test that hangs fails: ten times of what the slowest one takes on a quiet machine. Shorter limits of single tests do not count.
  testTimeout: 900_000,
  setupFilesAfterEnv: ['<rootDir>/test/support/processes/patient-tests.cjs'],
};
