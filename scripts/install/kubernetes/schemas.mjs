/**
 * Puts the schemas that kubeconform reads into .cache/kubernetes-schemas/: those of several Kubernetes versions, from a Python package, and
 * those of the custom resources of Prometheus Operator, Istio, Envoy Gateway and the Gateway API, from the CustomResourceDefinitions in their Go modules.
 *
 *   FOLDER/v1.37.0/deployment-apps-v1.json                       a kind of Kubernetes
 *   FOLDER/custom/monitoring.coreos.com/podmonitor_v1.json       a custom resource
 *   FOLDER/definitions/SOURCE/….yaml                             the CustomResourceDefinitions themselves, for an API server
 */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { which } from '../../process/programs.mjs';
import { ROOT } from '../../process/repository.mjs';
import { failureOf, run } from '../../process/run.mjs';
import { beginFetch } from '../fetch/fetch-plan.mjs';
import { installPythonPackage } from '../python-package.mjs';
import { installIfMain, withUnfinishedFolder } from '../fetch/tool.mjs';
import { schemasOf } from './crd-schema.mjs';

/** @typedef {import('./crd-schema.mjs').Definition} Definition */
/** @typedef {{ name: string, module: string, paths: readonly string[] }} Source `paths` are files or folders of YAML in the module. */

/** The oldest that the chart supports, the newest, and two between them. */
const KUBERNETES_VERSIONS = ['v1.25.0', 'v1.29.0', 'v1.33.0', 'v1.37.0'];
const SCHEMA_PACKAGE = { name: 'kubernetes-validate', version: '1.37.0', isData: true };

/** @type {readonly Source[]} */
const SOURCES = [
  {
    name: 'prometheus-operator',
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    paths: ['example/prometheus-operator-crd'],
  },
  { name: 'istio', module: 'istio.io/api@v1.31.4', paths: ['kubernetes/customresourcedefinitions.gen.yaml'] },
  {
    name: 'envoy-gateway',
    module: 'github.com/envoyproxy/gateway@v1.9.1',
    paths: ['charts/gateway-helm/charts/crds/crds/generated', 'charts/gateway-helm/charts/crds/crds/gatewayapi-crds.yaml'],
  },
];

const DOWNLOAD_TIMEOUT_S = 300;

export async function installKubernetesSchemas() {
  const code = ['schemas.mjs', 'crd-schema.mjs'].map((file) => readFileSync(join(ROOT, 'scripts', 'install', 'kubernetes', file)));
  const hash = createHash('sha256').update(Buffer.concat(code)).digest('hex').slice(0, 16);
  const cache = join(ROOT, '.cache', 'kubernetes-schemas');
  const path = join(cache, hash);
  if (existsSync(path)) return { path };
  const go = which('go');
  if (go === undefined)
    return {
      missing:
        'The schemas of custom resources come from Go modules, and go is not on PATH. Install Go (go.dev, or Debian and Ubuntu: `apt-get install golang` as root), then run the command again.',
    };
  beginFetch({ name: 'kubernetes-schemas', by: 'pip and go', isGo: true });
  const missing = await withUnfinishedFolder(cache, async (unfinished) => {
    const failure = (await writeKubernetes(unfinished)) ?? (await writeCustomResources(go, unfinished));
    if (failure === undefined && !existsSync(path)) renameSync(unfinished, path);
    return failure;
  });
  return missing === undefined ? { path } : { missing };
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} folder
 */
async function writeKubernetes(folder) {
  const { path, missing } = await installPythonPackage(SCHEMA_PACKAGE);
  if (path === undefined) return missing;
  for (const version of KUBERNETES_VERSIONS) {
    const from = join(path, 'kubernetes_validate', 'kubernetes-json-schema', `${version}-local-strict`);
    for (const file of readdirSync(from)) writeSchema(join(folder, version, file), localSchema(readFileSync(join(from, file), 'utf8')));
  }
  return undefined;
}

/**
 * The schemas of the package refer to each other at an address of the Kubernetes site, which no test may ask.
 *
 * @param {string} text
 */
function localSchema(text) {
  const schema = /** @type {import('./crd-schema.mjs').Schema} */ (
    parseJson(text.replaceAll('"/api/_definitions.json#', '"_definitions.json#'))
  );
  delete schema.$id;
  return schema;
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} go
 * @param {string} folder
 */
async function writeCustomResources(go, folder) {
  for (const { name, module, paths } of SOURCES) {
    const ended = await run(go, ['mod', 'download', '-json', module], { timeoutS: DOWNLOAD_TIMEOUT_S, output: 'pipe' });
    if (ended.code !== 0) {
      console.error(ended.output);
      return `${module} could not be downloaded: ${failureOf('go', ended, DOWNLOAD_TIMEOUT_S)}; its output is above. Check that Go can reach its module proxy, then run the command again.`;
    }
    const { Dir: source } = /** @type {{ Dir: string }} */ (parseJson(ended.stdout));
    for (const file of paths.flatMap((path) => yamlFilesOf(join(source, path)))) await writeDefinitions(file, { name, folder });
  }
  return undefined;
}

/** @param {string} path */
function yamlFilesOf(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => join(path, file));
}

/**
 * @param {string} file
 * @param {{ name: string, folder: string }} target
 */
async function writeDefinitions(file, { name, folder }) {
  const copy = join(folder, 'definitions', name, basename(file));
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(file, copy);
  // When this file is read, the packages may not be installed yet.
  const { parseAllDocuments } = await import('yaml');
  const documents = /** @type {readonly import('yaml').Document[]} */ (parseAllDocuments(readFileSync(file, 'utf8')));
  for (const document of documents) {
    /** @type {unknown} */
    const value = document.toJS();
    const definition = /** @type {Definition | null} */ (value);
    if (definition?.kind !== 'CustomResourceDefinition') continue;
    for (const [schemaFile, schema] of schemasOf(definition)) writeSchema(join(folder, 'custom', schemaFile), schema);
  }
}

/**
 * @param {string} file
 * @param {import('./crd-schema.mjs').Schema} schema
 */
function writeSchema(file, schema) {
  mkdirSync(dirname(file), { recursive: true });
  // kubeconform reads all definitions again for each kind, and half of their bytes is prose.
  const withoutProse = JSON.stringify(schema, dropProse);
  writeFileSync(file, withoutProse);
}

/**
 * A replacer of JSON.stringify.
 *
 * @param {string} key
 * @param {unknown} value
 */
function dropProse(key, value) {
  return key === 'description' && typeof value === 'string' ? undefined : value;
}

await installIfMain(import.meta.url, installKubernetesSchemas);
