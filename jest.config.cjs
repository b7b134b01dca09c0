// How jest runs the tests: TypeScript through swc (types are checked by their own stage), one stage per folder.
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } }],
  },
  // Bounded: a test that hangs fails.
  testTimeout: 30_000,
};
