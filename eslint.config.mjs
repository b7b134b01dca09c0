// The lint rules: type-aware, so that no promise floats and no `any` slips in.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.cache/'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // A byte string is tested for bytes that are no printable ASCII: control characters are the point.
      'no-control-regex': 'off',
      eqeqeq: 'error',
      'max-lines-per-function': ['error', { max: 70, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    // The path of a request: each is made for every call.
    files: ['src/should-rate-limit.ts', 'src/bucket/*.ts', 'src/engine/*.ts', 'src/respond/additions.ts', 'src/store/group-parts.ts', 'src/store/take-wire.ts', 'src/transport/{answer,known-requests,request}.ts', 'src/transport/codec/*.ts', 'src/transport/http2/!(lean-server).ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ObjectExpression > SpreadElement:first-child ~ *',
          message: 'An object that begins with a spread and has more gets a hidden class of its own (of V8 on Node 20: each time), and all that read it slow down: begin with a property.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // A describe block is a chapter, not a function.
      'max-lines-per-function': 'off',
      // A test looks at what it has just made; a wrong guess fails it.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', setTimeout: 'readonly', clearTimeout: 'readonly', URL: 'readonly' } },
  },
);
