/** The stages of `npm test`, what each runs, what it needs first, how much of the machine it uses, and for how long. */
import { ENGINE_STAGES } from './engine-stages.mjs';
import { CHECKS_FOLDER } from './passed-before.mjs';

/** The tests of other stages that depend on Node: processes, signals, sockets, TLS, HTTP/2, every unit test, memory, Redis connections. */
const ON_NODE_OF_IMAGE = {
  folders: ['test/runtimes', 'test/unit', 'test/contract'],
  files: [
    ...integrationTests([
      'grpc/client-credentials',
      'grpc/connection-life',
      'grpc/grpc',
      'grpc/grpc-tls',
      'grpc/grpc-unix-socket',
      'http/health',
      'http/http',
      'grpc/lean-transport',
      'decisions/million-buckets',
      'process/process',
      'redis/redis-connection',
      'process/workers',
    ]),
    ...['ratelimit-command', 'young-objects'].map((name) => `test/deploy/${name}.test.ts`),
  ],
};

/** @param {readonly string[]} names */
function integrationTests(names) {
  return names.map((name) => `test/integration/${name}.test.ts`);
}

/** The files that prettier formats. */
export const FORMATTED = [
  'src/**/*.{ts,tsx,css,html}',
  'test/**/*.{ts,cjs}',
  'bench/**/*.ts',
  'scripts/**/*.{mjs,cjs}',
  'site/try/**/*.{ts,tsx}',
  'site/.vitepress/**/*.{mjs,js,css}',
  '{,config/}*.{mjs,cjs,json,jsonc}',
  '!package-lock.json',
];

/** prettier remembers what is formatted, by the content of each file. */
const CACHED = ['--cache', '--cache-strategy=content', `--cache-location=${CHECKS_FOLDER}/prettier`];

/** The same for the type checker. */
const INCREMENTAL = ['--incremental', '--tsBuildInfoFile', `${CHECKS_FOLDER}/types.tsbuildinfo`];

/** What oxlint checks. */
const LINTED = ['src', 'test', 'bench', 'scripts', 'site', 'deploy', 'config/jest-preset.cjs'];

/** The linter's reader of types is a Go program that lives for seconds: to collect its garbage took a third of its processor time. */
const RARE_COLLECTION = { GOGC: '400' };

/**
 * @typedef {'build' | 'redis' | 'redisVersions' | 'shells' | 'nodeVersions' | 'luacheck' | 'envoy' | 'olderEnvoys' | 'h2spec' | 'goClient' | 'grpcio' | 'openApiPythonClient' | 'h2load' | 'prometheus' | 'promtool' | 'chromium' | 'site' | 'helm' | 'kustomize' | 'kubeconform' | 'kubernetesSchemas' | 'kubernetesApiServer' | 'bubblewrap' | 'asgi' | 'composeReader' | 'actionlint' | 'nginx' | 'haproxy' | 'apache' | 'caddy' | 'traefik' | 'envoyGatewayConfig' | 'envoyGatewayModule' | 'oras' | 'cosign' | 'dockerRegistry' | 'verdaccio' | import('../install/redis-versions.mjs').Engine} Need
 * With 'nodeVersions' a stage runs on the Node of the image.
 */

/**
 * A stage is the build, a `tool` of node_modules (one test), or jest.
 *
 * @typedef {object} Stage
 * @property {string} name
 * @property {boolean} [build]
 * @property {readonly [string, ...string[]]} [tool]
 * @property {readonly string[]} [checked] The last arguments of the tool: files and folders, which it can read one by one.
 * @property {readonly string[]} [folders] All tests in them.
 * @property {readonly string[]} [files] Tests, or folders of tests, of other stages.
 * @property {readonly string[]} [onlyLong] Test files of its folders that the short form leaves out: they measure memory or speed, or test tools, and
 * take long for what they find. docs/internals/testing.md lists them.
 * @property {boolean} [isOnlyLong] Left out of the short form, unless it is named.
 * @property {readonly string[]} [leftOut] Files of its folders that belong to other stages alone.
 * @property {readonly string[]} [titles] Runs only the tests whose titles contain one of these.
 * @property {readonly Need[]} [needs]
 * @property {number} [cores] How many of the two cores its processor time keeps busy. Stages run side by side while the sum is at most
 * two. A stage that waits for processes most of its time keeps less than one core busy.
 * @property {number} [workers] Those of jest; 1 by default. Tests of processes wait for half of their time, so three keep more than one core busy.
 * @property {number} quietS How long it takes on two quiet cores, with the others beside it.
 * @property {Partial<Stage>} [long] What differs in the long form, besides the number of cases of each test (`test/support/random/form.ts`).
 * @property {Readonly<Record<string, string>>} [env]
 */

/** Limits end what hangs. A busy machine needs ten times as long as a quiet one, and tools that were never used are slow at first. */
const LIMIT = { times: 10, minS: 1800 };

/**
 * When a stage is stopped.
 *
 * @param {Stage} stage
 */
export function limitOf({ quietS }) {
  return Math.max(LIMIT.minS, LIMIT.times * quietS);
}

/**
 * TypeScript 7 checks types in a quarter of the time. The build uses TypeScript 6: `npm start` builds without the packages of one platform,
 * which 7 is made of.
 */
const TYPE_CHECKER = 'typescript-native/bin/tsc';

/** @type {readonly Need[]} */
const KUBERNETES_TOOLS = [
  'build',
  'redis',
  'helm',
  'kustomize',
  'kubeconform',
  'kubernetesSchemas',
  'envoy',
  'envoyGatewayConfig',
  'envoyGatewayModule',
];

/** @type {readonly Need[]} */
const RELEASE_TOOLS = ['build', 'redis', 'envoy', 'promtool', 'composeReader', 'actionlint', 'helm'];

/** @type {readonly Stage[]} */
export const STAGES = [
  { name: 'build', build: true, quietS: 15 },
  { name: 'types', tool: [TYPE_CHECKER, '-p', 'tsconfig.json', ...INCREMENTAL], cores: 1, quietS: 12 },
  { name: 'types-console', tool: [TYPE_CHECKER, '--noEmit', '-p', 'src/administration/console/tsconfig.json'], cores: 1, quietS: 4 },
  {
    name: 'lint',
    tool: ['oxlint/bin/oxlint', '--config=config/oxlint.jsonc'],
    checked: LINTED,
    env: RARE_COLLECTION,
    cores: 1,
    quietS: 20,
  },
  { name: 'format', tool: ['prettier/bin/prettier.cjs', '--check', ...CACHED, ...FORMATTED], cores: 1, quietS: 30 },
  { name: 'unused', tool: ['knip/bin/knip.js', '--config=config/knip.json', '--no-progress'], cores: 1, quietS: 12 },
  {
    name: 'faults',
    folders: ['test/faults'],
    needs: ['build', 'redis'],
    cores: 0.8,
    quietS: 110,
    long: { cores: 1, quietS: 360 },
  },
  {
    name: 'envoy',
    folders: ['test/envoy'],
    onlyLong: ['test/envoy/older-envoys.test.ts'],
    needs: ['build', 'redis', 'envoy'],
    cores: 0.5,
    quietS: 230,
    long: { needs: ['build', 'redis', 'envoy', 'olderEnvoys'], quietS: 900 },
  },
  {
    name: 'runtimes',
    folders: ['test/runtimes'],
    onlyLong: ['test/runtimes/npm-start.test.ts'],
    needs: ['build', 'redis', 'nodeVersions'],
    cores: 1,
    quietS: 60,
    long: { ...ON_NODE_OF_IMAGE, quietS: 120 },
  },
  // It builds Weir and installs its packages, as the Dockerfile says.
  { name: 'image', folders: ['test/image'], needs: ['nodeVersions', 'bubblewrap'], cores: 1, quietS: 75, long: { quietS: 90 } },
  // What people download and start: compose, workflows, changelog, the release.
  {
    name: 'release',
    folders: ['test/release'],
    onlyLong: ['test/release/publish.test.ts'],
    needs: RELEASE_TOOLS,
    cores: 0.6,
    quietS: 60,
    // It publishes a release to registries on this machine; cosign takes minutes to build.
    long: {
      needs: [...RELEASE_TOOLS, 'oras', 'nodeVersions', 'bubblewrap', 'cosign', 'dockerRegistry', 'verdaccio'],
      cores: 1,
      quietS: 300,
    },
  },
  {
    name: 'lua',
    folders: ['test/lua', 'test/parity'],
    onlyLong: ['test/parity/bucket-memory.test.ts', 'test/parity/slot-cost.test.ts'],
    needs: ['redis'],
    cores: 0.8,
    quietS: 50,
  },
  // A separate stage: a machine without luacheck still runs the tests of the Lua scripts.
  { name: 'luacheck', folders: ['test/luacheck'], needs: ['luacheck'], cores: 1, quietS: 5 },
  { name: 'mutants', folders: ['test/mutants'], needs: ['redis'], cores: 1, quietS: 30 },
  {
    name: 'docs',
    folders: ['test/docs', 'test/deploy'],
    onlyLong: ['test/deploy/stages/second-chance.test.ts'],
    needs: ['build', 'redis'],
    cores: 0.8,
    quietS: 90,
  },
  { name: 'contract', folders: ['test/contract'], needs: ['redis'], cores: 1, quietS: 60 },
  {
    name: 'clients',
    folders: ['test/clients'],
    needs: ['build', 'h2spec', 'goClient', 'grpcio', 'asgi', 'openApiPythonClient'],
    cores: 0.4,
    quietS: 90,
  },
  {
    name: 'proxies',
    folders: ['test/proxies'],
    needs: ['build', 'nginx', 'haproxy', 'apache', 'caddy', 'traefik'],
    cores: 0.5,
    quietS: 40,
  },
  {
    name: 'kubernetes',
    folders: ['test/kubernetes'],
    needs: KUBERNETES_TOOLS,
    cores: 1,
    quietS: 150,
    // The API server takes minutes to build.
    long: { folders: ['test/kubernetes', 'test/kubernetes-api'], needs: [...KUBERNETES_TOOLS, 'kubernetesApiServer'], quietS: 180 },
  },
  // Prometheus waits for the times of its alerts.
  {
    name: 'prometheus',
    folders: ['test/prometheus'],
    needs: ['build', 'redis', 'prometheus', 'promtool'],
    cores: 0.7,
    quietS: 95,
  },
  {
    name: 'console',
    folders: ['test/console'],
    onlyLong: ['test/console/leak.test.ts', 'test/console/scale.test.ts'],
    needs: ['build', 'chromium'],
    cores: 0.5,
    quietS: 180,
  },
  // Before it, the docs site is built: 25 s of processor time.
  { name: 'site', folders: ['test/site'], needs: ['build', 'chromium', 'site'], cores: 0.8, quietS: 40 },
  {
    name: 'unit',
    folders: ['test/unit', 'test/simulation'],
    needs: ['build'],
    onlyLong: ['test/unit/bench/run-load.test.ts'],
    cores: 1,
    workers: 1,
    quietS: 90,
  },
  {
    name: 'integration',
    folders: ['test/integration', 'test/conformance'],
    onlyLong: integrationTests(['admin/busy-viewers', 'decisions/million-buckets', 'library/pack-from-sources']),
    needs: ['build', 'redis', 'redisVersions', 'shells'],
    cores: 1,
    workers: 3,
    quietS: 450,
  },
  ...ENGINE_STAGES,
  // It measures processor time, which other stages on the same cores would change.
  { name: 'bench', folders: ['test/bench'], needs: ['build', 'redis', 'h2load'], cores: 2, quietS: 60 },
];
