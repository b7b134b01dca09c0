// The lint rules: type-aware, so that no promise floats and no `any` slips in.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const ENUM = { selector: 'TSEnumDeclaration', message: 'Declare a union of texts instead of an enum.' };

export default tseslint.config(
  { ignores: ['**/dist/', '**/node_modules/', '.cache/', 'site/.vitepress/'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts', 'scripts/**/*.{mjs,cjs}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      // A field that a spread leaves out.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Nothing declares an enum, and the rule takes a tenth of the time of all rules.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      'no-restricted-syntax': ['error', ENUM],
      // A byte string is tested for bytes that are no printable ASCII: control characters are the point.
      'no-control-regex': 'off',
      eqeqeq: 'error',
      'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    },
  },
  // The console and the page Try have types of their own, with the DOM.
  ...['src/administration/console', 'site'].map((folder) => ({
    files: [`${folder}/**/*.{ts,tsx}`],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: `./${folder}/tsconfig.json`, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      eqeqeq: 'error',
      'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    },
  })),
  {
    files: ['src/**/*.ts'],
    ignores: ['src/lib/clock.ts'],
    rules: {
      'no-restricted-properties': ['error', { object: 'performance', property: 'now', message: 'Use the clock of src/lib/clock.ts.' }],
    },
  },
  {
    // The path of a request: each is made for every call.
    files: [
      'src/should-rate-limit.ts',
      'src/domain/algorithm/*.ts',
      'src/domain/bucket/*.ts',
      'src/domain/decide/*.ts',
      'src/state/control/selector-index.ts',
      'src/state/request/*.ts',
      'src/domain/rule/*.ts',
      'src/domain/respond/response-additions.ts',
      'src/state/store/layers/group-parts.ts',
      'src/state/store/redis/take-wire.ts',
      'src/server/transport/answer.ts',
      'src/server/transport/messages/{request-cache,request,decode-request,encode-response,wire-reader,wire-writer}.ts',
      'src/server/transport/http2/*/*.ts',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        ENUM,
        {
          selector: 'ObjectExpression > SpreadElement:first-child ~ *',
          message:
            'An object that begins with a spread and has more gets a hidden class of its own (of V8 on Node 20: each time), and all that read it slow down: begin with a property.',
        },
      ],
    },
  },
  {
    // A drawing is one long list of shapes.
    files: ['scripts/generate/drawings/*.mjs'],
    rules: { 'max-lines-per-function': ['error', { max: 80, skipComments: true, skipBlankLines: true }] },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // A describe block is a chapter, not a function.
      'max-lines-per-function': 'off',
      // A test looks at what it has just made; a wrong guess fails it.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // The slowest rule of all: it protects private fields of instances, which tests never copy.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    // CommonJS: loaders of `node --require` and a reporter of jest.
    files: ['**/*.cjs'],
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        fetch: 'readonly',
        URL: 'readonly',
      },
    },
  },
);
