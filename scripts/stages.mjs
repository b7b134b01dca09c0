// The stages of `npm test`, in order: what each runs, what it needs first, and how long it may take.

/** Of the other stages what is most the matter of Node: processes, signals, sockets, TLS, HTTP/2, memory. */
const ON_NODE_OF_IMAGE = {
  folders: ['test/runtimes', 'test/unit', 'test/contract'],
  files: [
    ...['client-credentials', 'connection-life', 'grpc', 'grpc-tls', 'grpc-unix-socket', 'health', 'http', 'lean-transport', 'million-buckets', 'process', 'redis-connection', 'workers'].map(
      (name) => `test/integration/${name}.test.ts`,
    ),
    ...['ratelimit-command', 'young-objects'].map((name) => `test/deploy/${name}.test.ts`),
  ],
};

/**
 * A stage runs either a `tool` of node_modules (one test each) or jest on `folders`, and on `files` of others. `needs`: 'build', 'redis',
 * 'redisVersions', 'nodeVersions', 'envoy', 'h2spec', 'goClient', 'grpcio', 'h2load'; with 'nodeVersions' it runs on the image's Node.
 * `long`: it has a long form, which `npm run test:NAME` runs by setting the variable. `workers` is jest's; stages that start
 * servers run file by file, since each of their tests wants the cores for itself.
 */
export const STAGES = [
  { name: 'build', build: true },
  { name: 'types', tool: ['typescript/bin/tsc', '-p', 'tsconfig.json'], timeoutS: 300 },
  { name: 'lint', tool: ['eslint/bin/eslint.js', '--no-error-on-unmatched-pattern', 'src', 'test', 'bench', 'scripts'], timeoutS: 600 },
  { name: 'unit', folders: ['test/unit', 'test/simulation'], workers: 2, timeoutS: 600 },
  { name: 'lua', folders: ['test/lua', 'test/parity'], needs: ['redis'], workers: 2, timeoutS: 600 },
  { name: 'mutants', folders: ['test/mutants'], needs: ['redis'], workers: 1, timeoutS: 900 },
  { name: 'contract', folders: ['test/contract'], needs: ['redis'], workers: 2, timeoutS: 600 },
  { name: 'integration', folders: ['test/integration', 'test/conformance'], needs: ['build', 'redis', 'redisVersions'], workers: 1, timeoutS: 1500 },
  { name: 'runtimes', ...ON_NODE_OF_IMAGE, needs: ['build', 'redis', 'nodeVersions'], workers: 1, timeoutS: 1200 },
  { name: 'faults', folders: ['test/faults'], needs: ['build', 'redis'], workers: 1, timeoutS: 900, long: { variable: 'WEIR_FAULTS', timeoutS: 3600 } },
  { name: 'envoy', folders: ['test/envoy'], needs: ['build', 'redis', 'envoy'], workers: 1, timeoutS: 600, long: { variable: 'WEIR_DRAINS', timeoutS: 1800 } },
  { name: 'clients', folders: ['test/clients'], needs: ['build', 'h2spec', 'goClient', 'grpcio'], workers: 1, timeoutS: 600 },
  { name: 'bench', folders: ['test/bench'], needs: ['build', 'redis', 'h2load'], workers: 1, timeoutS: 300 },
  { name: 'docs', folders: ['test/docs', 'test/deploy'], needs: ['build', 'redis'], workers: 2, timeoutS: 300 },
];
