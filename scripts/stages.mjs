// The stages of `npm test`, in order: what each runs, what it needs first, how much of the machine it takes, and how long it may take.

/** Of the other stages what depends most on Node: processes, signals, sockets, TLS, HTTP/2. */
const ON_NODE_OF_IMAGE = {
  folders: ['test/runtimes'],
  files: [
    'test/unit/transport',
    'test/unit/workers',
    ...integrationTests(['grpc', 'grpc-tls', 'grpc-unix-socket', 'http', 'lean-transport', 'process', 'workers']),
  ],
};

/** Besides, what depends on it less: every unit test, memory, Redis connections. */
const ALL_ON_NODE_OF_IMAGE = {
  folders: ['test/runtimes', 'test/unit', 'test/contract'],
  files: [
    ...integrationTests(['client-credentials', 'connection-life', 'grpc', 'grpc-tls', 'grpc-unix-socket', 'health', 'http', 'lean-transport', 'million-buckets', 'process', 'redis-connection', 'workers']),
    ...['ratelimit-command', 'young-objects'].map((name) => `test/deploy/${name}.test.ts`),
  ],
};

function integrationTests(names) {
  return names.map((name) => `test/integration/${name}.test.ts`);
}

/**
 * A stage runs either a `tool` of node_modules (one test each) or jest on `folders`, and on `files` (or folders) of others. `needs`:
 * 'build', 'redis', 'redisVersions', 'nodeVersions', 'envoy', 'h2spec', 'goClient', 'grpcio', 'h2load'; with 'nodeVersions' it runs on
 * the image's Node. `cores`: how many of the two cores it keeps busy; the order leaves none idle. `workers` is jest's, 1 unless said.
 * `long`: what is different in the long form, beside the number of cases of each test (`test/support/form.ts`).
 */
export const STAGES = [
  { name: 'build', build: true },
  { name: 'types', tool: ['typescript/bin/tsc', '-p', 'tsconfig.json'], cores: 1, timeoutS: 300 },
  { name: 'lint', tool: ['eslint/bin/eslint.js', '--no-error-on-unmatched-pattern', 'src', 'test', 'bench', 'scripts'], cores: 1, timeoutS: 600 },
  { name: 'contract', folders: ['test/contract'], needs: ['redis'], cores: 1, timeoutS: 600 },
  { name: 'lua', folders: ['test/lua', 'test/parity'], needs: ['redis'], cores: 1, timeoutS: 600 },
  { name: 'mutants', folders: ['test/mutants'], needs: ['redis'], cores: 1, timeoutS: 900 },
  { name: 'docs', folders: ['test/docs', 'test/deploy'], needs: ['build', 'redis'], cores: 1, timeoutS: 300 },
  { name: 'unit', folders: ['test/unit', 'test/simulation'], cores: 2, workers: 2, timeoutS: 600 },
  { name: 'integration', folders: ['test/integration', 'test/conformance'], needs: ['build', 'redis', 'redisVersions'], cores: 2, workers: 2, timeoutS: 1500 },
  { name: 'runtimes', ...ON_NODE_OF_IMAGE, needs: ['build', 'redis', 'nodeVersions'], cores: 1, timeoutS: 600, long: { ...ALL_ON_NODE_OF_IMAGE, timeoutS: 1200 } },
  { name: 'faults', folders: ['test/faults'], needs: ['build', 'redis'], cores: 1, timeoutS: 900, long: { timeoutS: 3600 } },
  { name: 'envoy', folders: ['test/envoy'], needs: ['build', 'redis', 'envoy'], cores: 0.5, timeoutS: 600, long: { timeoutS: 1800 } },
  { name: 'clients', folders: ['test/clients'], needs: ['build', 'h2spec', 'goClient', 'grpcio'], cores: 0.5, timeoutS: 600 },
  // It looks at processor time too, which is not the same beside others.
  { name: 'bench', folders: ['test/bench'], needs: ['build', 'redis', 'h2load'], cores: 2, timeoutS: 300 },
];
