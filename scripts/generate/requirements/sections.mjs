/** The sections of docs/generated/requirements.md, and the folders of tests that each of them lists. */

/** The folder with the longest name decides. */
/** @type {Readonly<Record<string, readonly string[]>>} */
const SECTIONS = {
  Decisions: [
    'contract',
    'integration/decisions',
    'lua',
    'luacheck',
    'mutants',
    'parity',
    'unit/algorithm',
    'unit/bucket',
    'unit/decide',
    'unit/fair',
    'unit/request',
    'unit/rule',
    'unit/should-rate-limit.test.ts',
    'unit/store',
  ],
  'What answers carry': ['unit/respond'],
  'In trouble': ['faults', 'integration/engines', 'integration/redis', 'simulation', 'unit/instances', 'unit/resilience'],
  'Top keys': ['unit/top'],
  Events: ['contract/events', 'integration/events', 'unit/events'],
  'Metrics, logs and alerts': ['prometheus', 'unit/observability'],
  Traces: ['integration/tracing', 'unit/observability/tracing'],
  'Compatibility with envoyproxy/ratelimit': ['conformance'],
  'Configuration and reloads': ['integration/config', 'unit/compile', 'unit/source', 'unit/yaml'],
  'Settings and the command line': ['unit/cli', 'unit/settings'],
  'Control data and the admin API': [
    'integration/admin',
    'integration/control',
    'unit/admin',
    'unit/control',
    'unit/penalty',
    'unit/rollout',
  ],
  'The console': ['console', 'unit/console'],
  Envoy: ['envoy'],
  'Other proxies': ['proxies', 'unit/transport/http/check'],
  'The HTTP port': ['integration/http', 'unit/transport/http'],
  'The gRPC port': ['clients', 'integration/grpc', 'unit/transport/grpc', 'unit/transport/port'],
  'The lean transport': ['unit/transport/http2', 'unit/transport/messages'],
  'The process and its workers': ['integration/process', 'runtimes', 'unit/lib', 'unit/warm-up', 'unit/workers'],
  Reservations: ['integration/reservations', 'unit/reservation'],
  Libraries: ['integration/library', 'unit/library'],
  'Images, Kubernetes and releases': ['deploy', 'image', 'kubernetes', 'kubernetes-api', 'release'],
  'The documentation': ['docs', 'site'],
  'The tests': ['deploy/stages'],
  'The cost': ['bench', 'unit/bench'],
};

/**
 * The test files in their sections, in the order of the page.
 *
 * @param {readonly string[]} files
 * @returns {{ readonly title: string, readonly files: readonly string[] }[]}
 */
export function sectionsOf(files) {
  const titles = new Map(files.map((file) => [file, titleOf(file)]));
  return Object.keys(SECTIONS).flatMap((title) => {
    const own = files.filter((file) => titles.get(file) === title);
    return own.length === 0 ? [] : [{ title, files: own }];
  });
}

/** @param {string} file */
function titleOf(file) {
  const all = Object.entries(SECTIONS).flatMap(([title, folders]) => folders.map((folder) => ({ title, folder: `test/${folder}` })));
  const [own] = all
    .filter(({ folder }) => file === folder || file.startsWith(`${folder}/`))
    .toSorted((a, b) => b.folder.length - a.folder.length);
  if (own === undefined)
    throw new Error(`${file} has no section. Add its folder to SECTIONS in scripts/generate/requirements/sections.mjs.`);
  return own.title;
}
