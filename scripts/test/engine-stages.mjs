/** The stages that run the suites which start a Redis on its other versions, and on Valkey. docs/versions.md has their results. */
import { ENGINES, NEWEST_VALKEY } from '../install/redis-versions.mjs';

/** @typedef {import('./stages.mjs').Stage} Stage */
/** @typedef {{ readonly title: string, readonly paths: readonly string[] }} Suite `paths` are folders or files. */

/**
 * The columns of docs/versions.md.
 *
 * @type {readonly Suite[]}
 */
export const SUITES = [
  { title: 'scripts, store', paths: ['test/contract', 'test/lua', 'test/parity'] },
  {
    title: 'single server',
    paths: [
      ...['engines', 'eviction', 'failure-mode', 'keys', 'leases', 'outage-log', 'outage-restart', 'per-second', 'redis-connection'],
      ...['redis-handshake', 'redis-trouble', 'script-timeout', 'top-keys'],
    ].map((name) => `test/integration/redis/${name}.test.ts`),
  },
  {
    title: 'features',
    paths: ['test/integration/control', 'test/integration/decisions', 'test/integration/reservations'],
  },
  { title: 'Sentinel', paths: ['test/integration/redis/redis-sentinel.test.ts'] },
  { title: 'Cluster', paths: ['test/integration/redis/redis-cluster.test.ts'] },
  { title: 'faults', paths: ['test/faults'] },
];

/** They start no Redis, or other versions themselves, or measure memory and time. */
const LEFT_OUT = [
  ...['floods', 'memory-store', 'store-wrappers'].map((name) => `test/contract/${name}.test.ts`),
  'test/integration/control/control-file.test.ts',
  ...['answers', 'floods', 'million-buckets', 'virtual-time'].map((name) => `test/integration/decisions/${name}.test.ts`),
  'test/lua/write-together.test.ts',
  ...['bounds', 'bucket-memory', 'counter-error', 'give-back', 'model', 'slot-cost'].map((name) => `test/parity/${name}.test.ts`),
];

/** Tests that configure clusters, or read what is stored, by commands and settings of Redis 7.0, or shift the clock of a server. */
const FIRST_WITH_ALL = 7;
const NOT_BEFORE = [
  'test/faults',
  'test/integration/control/control-failover.test.ts',
  // The build of 6.0.5 is linked statically, so a library that shifts its clock has no effect.
  'test/integration/reservations/conservation.test.ts',
  'test/integration/redis/redis-cluster.test.ts',
  'test/lua',
];

/** What the short form runs on the newest Valkey: the begin of titles in these files. */
const BRIEF = {
  files: [
    ...['failure-mode', 'redis-cluster', 'redis-sentinel'].map((name) => `test/integration/redis/${name}.test.ts`),
    ...['reservations', 'twins'].map((name) => `test/parity/${name}.test.ts`),
  ],
  titles: [
    'after SIGKILL of Redis each failure mode decides',
    'a hot slot moves without a failed call',
    'after a kill of a primary other slots keep deciding',
    'Weir decides on the primary, and after its death on the next one',
    'model, embedded store and Redis agree',
    'twins of ',
  ],
};

/** @type {readonly Stage[]} */
export const ENGINE_STAGES = ENGINES.map((engine) => {
  const leftOut = hasAll(engine) ? LEFT_OUT : [...LEFT_OUT, ...NOT_BEFORE];
  const paths = SUITES.flatMap(({ paths: own }) => own).filter((path) => !leftOut.includes(path));
  /** @type {Partial<Stage>} */
  const whole = {
    folders: paths.filter((path) => !path.endsWith('.ts')),
    files: paths.filter((path) => path.endsWith('.ts')),
    leftOut,
    titles: [],
    quietS: 600,
    // The cases are those of the short form: which engine runs a script does not depend on the case.
    env: { WEIR_TEST_FORM: 'short' },
  };
  /** @type {Stage} */
  const stage = { name: engine, needs: ['build', engine], cores: 0.7, quietS: 45 };
  return engine === NEWEST_VALKEY ? { ...stage, ...BRIEF, long: whole } : { ...stage, isOnlyLong: true, ...whole };
});

/** @param {string} engine */
function hasAll(engine) {
  const [product, version = ''] = engine.split('-');
  return product === 'valkey' || Number.parseInt(version, 10) >= FIRST_WITH_ALL;
}
