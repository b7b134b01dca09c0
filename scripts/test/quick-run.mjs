/**
 * What `npm test` runs of the stages: what finds most for its time, and each test that alone guards a promise of README. The rest of them, and
 * the other stages, are left to `npm run test:all`.
 */

/** @typedef {import('./stages.mjs').Stage} Stage */
/** @typedef {{ readonly without?: readonly string[], readonly only?: readonly string[], readonly workers?: number, readonly quietS?: number }} Choice Test files of the stage. */

/** Tests of real Weirs: both stores, gRPC and HTTP, a dead Redis, the command line. */
const REAL_WEIRS = [
  'config/wiring',
  'decisions/admission',
  'decisions/answers',
  'decisions/bad-input',
  'grpc/grpc',
  'grpc/lean-transport',
  'http/check',
  'http/http',
  'redis/failure-mode',
];

/** Documents and scripts: what their tests start takes more time than all others together. */
const COSTLY_DOCS = [
  ...['libraries', 'requirements', 'operating/operations', 'pages/migrating', 'pages/rollout', 'pages/who-is-limited', 'stable-names'],
].map((name) => `docs/${name}`);

/** Simulations and floods: they take seconds for random cases, or for many of the same kind. */
const COSTLY_UNITS = [
  ...['fair', 'lease-model'].map((name) => `simulation/${name}`),
  ...['cli/replay/verdicts', 'cli/simulate', 'cli/control/import/import-tenants', 'control/control-follower', 'control/convergence'].map(
    (name) => `unit/${name}`,
  ),
  ...['control/selector-index', 'store/redis-cluster-store', 'source/config-place', 'top/fleet-top-keys', 'top/local-top-keys'].map(
    (name) => `unit/${name}`,
  ),
  ...['rule/calendar', 'resilience/saturation', 'source/xds/to-tape', 'store/bucket-table/bucket-table'].map((name) => `unit/${name}`),
  ...['transport/http2/floods', 'transport/http2/fuzz'].map((name) => `unit/${name}`),
];

/** The last one runs a Valkey beside Redis. */
const COSTLY_SCRIPTS = ['parity/counter-error', 'parity/hostile-clock', 'parity/reservations', 'parity/reserve', 'lua/write-together'];

/**
 * By the name of a stage; the others do not run.
 *
 * @type {Readonly<Record<string, Choice>>}
 */
const CHOICES = {
  build: {},
  types: {},
  'types-console': {},
  lint: {},
  format: {},
  lua: { without: COSTLY_SCRIPTS.map(fileOf) },
  contract: { without: ['contract/floods'].map(fileOf) },
  docs: { without: [...COSTLY_DOCS.map(fileOf), 'test/deploy'] },
  // Alone it takes as long as all others together, so it begins first.
  unit: { without: COSTLY_UNITS.map(fileOf), quietS: 100 },
  integration: { only: REAL_WEIRS.map((name) => fileOf(`integration/${name}`)), workers: 2, quietS: 40 },
};

/** @param {string} name */
function fileOf(name) {
  return `test/${name}.test.ts`;
}

/**
 * @param {readonly Stage[]} stages
 * @returns {readonly Stage[]}
 */
export function quickStagesOf(stages) {
  return stages.flatMap((stage) => {
    const choice = CHOICES[stage.name];
    return choice === undefined ? [] : [quickStage(stage, choice)];
  });
}

/**
 * One redis-server is all that the chosen tests need beside the build.
 *
 * @param {Stage} stage
 * @param {Choice} choice
 * @returns {Stage}
 */
function quickStage(stage, { without = [], only, workers = stage.workers ?? 1, quietS = stage.quietS }) {
  const needs = (stage.needs ?? []).filter((need) => need === 'build' || need === 'redis');
  if (only !== undefined) return { ...stage, needs, workers, quietS, folders: [], files: only };
  const folders = (stage.folders ?? []).filter((folder) => !without.includes(folder));
  return { ...stage, needs, quietS, folders, leftOut: [...(stage.leftOut ?? []), ...without] };
}
