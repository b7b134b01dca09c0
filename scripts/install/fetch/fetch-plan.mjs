/** What is fetched: said by each installer when it begins, and by `npm test` for all of them before the first one does. */

/**
 * Megabytes of download, and of disk afterwards, by the name in .cache/. They were measured on Debian 12 with no library of theirs there.
 *
 * @type {Readonly<Record<string, readonly [download: number, disk: number]>>}
 */
const SIZES = {
  'npm packages': [110, 393],
  'site packages': [25, 104],
  envoy: [32, 103],
  'older-envoys': [55, 180],
  traefik: [48, 177],
  verdaccio: [15, 65],
  'node-versions': [125, 383],
  'redis-versions': [40, 54],
  grpcio: [7, 20],
  asgi: [12, 40],
  'openapi-python-client': [16, 59],
  'kubernetes-validate': [9, 119],
  'redis-server': [8, 23],
  nginx: [6, 16],
  haproxy: [8, 20],
  apache2: [25, 75],
  chromium: [176, 501],
  prometheus: [25, 322],
  luacheck: [1, 4],
  'docker-registry': [6, 20],
  h2load: [13, 47],
  bwrap: [1, 1],
  zsh: [5, 20],
  fish: [11, 36],
  python3: [16, 56],
  actionlint: [0, 8],
  caddy: [0, 79],
  'compose-reader': [0, 8],
  cosign: [0, 135],
  'envoy-gateway-config': [0, 21],
  'go-client': [0, 15],
  h2spec: [0, 9],
  helm: [0, 105],
  kubeconform: [0, 14],
  kustomize: [0, 29],
  oras: [0, 17],
  'kubernetes-schemas': [9, 142],
  'kubernetes-api-server': [0, 400],
};

/** All programs together: their modules, and what Go keeps of them outside of the repository. */
const OF_GO = { name: "the modules of the Go programs, in Go's own caches", download: 371, disk: 3_500 };

/** @typedef {{ readonly name: string, readonly by: string, readonly isGo?: boolean }} Fetch `name` is that of its sizes. */

/** Ends an installer that would fetch something, while a plan is made. */
class WouldFetch extends Error {
  /** @param {Fetch} fetch */
  constructor(fetch) {
    super(`${fetch.name} would be fetched`);
    this.fetch = fetch;
  }
}

let isPlanning = false;

/** @type {Map<string, Fetch>} */
let planned = new Map();

/**
 * An installer calls it before it fetches anything.
 *
 * @param {Fetch} fetch
 */
export function beginFetch(fetch) {
  if (isPlanning) throw new WouldFetch(fetch);
  const [download, disk] = SIZES[fetch.name] ?? [0, 0];
  console.log(`Fetching ${fetch.name} (${fetch.by}${download + disk === 0 ? '' : `; ${sizeOf({ download, disk })}`}) …`);
}

/**
 * For what an installer fetches on its way: whether only a plan is made, which goes on.
 *
 * @param {Fetch} fetch
 */
export function beginStep(fetch) {
  if (isPlanning) planned.set(fetch.name, fetch);
  else beginFetch(fetch);
  return isPlanning;
}

/**
 * The lines that say what the installers would fetch; none if everything is there.
 *
 * @param {readonly (() => Promise<unknown>)[]} installers
 */
export async function planFetches(installers) {
  planned = new Map();
  isPlanning = true;
  try {
    for (const install of installers) {
      try {
        await install();
      } catch (error) {
        // Another error comes again when the installer has its turn, which reports it.
        if (error instanceof WouldFetch) planned.set(error.fetch.name, error.fetch);
      }
    }
  } finally {
    isPlanning = false;
  }
  return linesOf([...planned.values()]);
}

/** @param {readonly Fetch[]} fetches */
function linesOf(fetches) {
  if (fetches.length === 0) return [];
  const rows = fetches.map(({ name, by }) => {
    const [download, disk] = SIZES[name] ?? [0, 0];
    return { name: `${name} (${by})`, download, disk };
  });
  if (fetches.some(({ isGo = false }) => isGo)) rows.push(OF_GO);
  const total = { download: sum(rows.map(({ download }) => download)), disk: sum(rows.map(({ disk }) => disk)) };
  return [
    `${fetches.length} tools are missing and will be fetched, into .cache/ unless a line says otherwise. About:`,
    ...rows.toSorted((a, b) => b.disk - a.disk).map((row) => `  ${sizeOf(row)}: ${row.name}`),
    `  ${sizeOf(total)}: all of them`,
  ];
}

/** @param {{ download: number, disk: number }} megabytes */
function sizeOf({ download, disk }) {
  return `${download} MB of download, ${disk} MB of disk`;
}

/** @param {readonly number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}
