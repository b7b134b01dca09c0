/** Builds kube-apiserver and etcd from their Go modules into a folder of .cache/kubernetes-api-server/. The path is that folder. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { which } from '../../process/programs.mjs';
import { ROOT } from '../../process/repository.mjs';
import { failureOf, run } from '../../process/run.mjs';
import { beginFetch } from '../fetch/fetch-plan.mjs';
import { installIfMain, withUnfinishedFolder } from '../fetch/tool.mjs';

const KUBERNETES_VERSION = 'v1.37.2';
/** The version of Kubernetes's libraries, which are modules of their own. */
const LIBRARY_VERSION = KUBERNETES_VERSION.replace('v1', 'v0');
/** The one that this Kubernetes names. */
const ETCD_VERSION = 'v3.7.0';

/** A build without it answers a version that no chart takes. */
const [MAJOR, MINOR] = KUBERNETES_VERSION.slice(1).split('.');
const VERSION_FLAGS = Object.entries({ gitVersion: KUBERNETES_VERSION, gitMajor: MAJOR, gitMinor: MINOR })
  .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value ?? ''}`)
  .join(' ');

const PROGRAMS = { etcd: 'go.etcd.io/etcd/server/v3', 'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver' };
const BUILD_TIMEOUT_S = 3600;

export async function installKubernetesApiServer() {
  const cache = join(ROOT, '.cache', 'kubernetes-api-server');
  const path = join(cache, KUBERNETES_VERSION);
  if (existsSync(path)) return { path };
  const go = which('go');
  if (go === undefined)
    return {
      missing:
        'kube-apiserver is built with Go, and go is not on PATH. Install Go (go.dev, or Debian and Ubuntu: `apt-get install golang` as root), then run the command again.',
    };
  beginFetch({
    name: 'kubernetes-api-server',
    by: `go, several minutes, kube-apiserver ${KUBERNETES_VERSION} and etcd ${ETCD_VERSION}`,
    isGo: true,
  });
  const missing = await withUnfinishedFolder(cache, async (unfinished) => {
    const failure = (await writeModule(go, unfinished)) ?? (await buildPrograms(go, unfinished));
    if (failure === undefined) renameSync(join(unfinished, 'programs'), path);
    return failure;
  });
  return missing === undefined ? { path } : { missing };
}

/**
 * Kubernetes's own go.mod has its libraries in folders that its module leaves out, so a module around it names their published versions.
 *
 * @param {string} go
 * @param {string} folder
 */
async function writeModule(go, folder) {
  const ended = await run(go, ['mod', 'download', '-json', `k8s.io/kubernetes@${KUBERNETES_VERSION}`], { timeoutS: 300, output: 'pipe' });
  if (ended.code !== 0) {
    console.error(ended.output);
    return `k8s.io/kubernetes could not be downloaded: ${failureOf('go', ended, 300)}; its output is above. Check that Go can reach its module proxy, then run the command again.`;
  }
  const { GoMod: file } = /** @type {{ GoMod: string }} */ (parseJson(ended.stdout));
  const libraries = Array.from(readFileSync(file, 'utf8').matchAll(/^\t(k8s\.io\/[a-z0-9-]+) v0\.0\.0$/gm), ([, name]) => name ?? '');
  const lines = [
    'module weir.test/api-server',
    'go 1.26.0',
    `require k8s.io/kubernetes ${KUBERNETES_VERSION}`,
    `require ${PROGRAMS.etcd} ${ETCD_VERSION}`,
    ...libraries.map((name) => `replace ${name} => ${name} ${LIBRARY_VERSION}`),
  ];
  writeFileSync(join(folder, 'go.mod'), `${lines.join('\n')}\n`);
  return undefined;
}

/**
 * @param {string} go
 * @param {string} folder
 */
async function buildPrograms(go, folder) {
  mkdirSync(join(folder, 'programs'));
  for (const [name, source] of Object.entries(PROGRAMS)) {
    const args = [
      'build',
      '-C',
      folder,
      '-mod=mod',
      '-buildvcs=false',
      '-trimpath',
      '-ldflags',
      VERSION_FLAGS,
      '-o',
      join('programs', name),
      source,
    ];
    const ended = await run(go, args, { timeoutS: BUILD_TIMEOUT_S, output: 'pipe' });
    if (ended.code === 0) continue;
    console.error(ended.output);
    return `${name} could not be built: ${failureOf('go', ended, BUILD_TIMEOUT_S)}; its output is above. Check that Go is new enough and can reach its module proxy, then run the command again.`;
  }
  return undefined;
}

await installIfMain(import.meta.url, installKubernetesApiServer);
