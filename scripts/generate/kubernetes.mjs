/** Writes deploy/kubernetes, for those without Helm, from the chart deploy/helm/weir: `[--out FOLDER]`. It installs Helm into .cache/ first. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { installHelm } from '../install/go/helm.mjs';
import { ROOT, exitWith } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { AI_GATEWAY_PRESET, BASE, COMMON, COMPONENTS, REDIS } from './kustomize/parts.mjs';
import { patchOf } from './kustomize/patch.mjs';

/** @typedef {import('yaml').Document.Parsed} YamlDocument */
/** @typedef {import('./kustomize/patch.mjs').Map} KubernetesObject */
/** @typedef {import('./kustomize/parts.mjs').Values} Values */
/** @typedef {{ kind: string, metadata: { name: string } }} Identified */

const RENDER_TIMEOUT_S = 60;
const KUBERNETES = 'v1.37.0';
const CHART = join(ROOT, 'deploy', 'helm', 'weir');
const WRITTEN = '# Written by scripts/generate/kubernetes.mjs from the chart deploy/helm/weir.\n';

/** Labels that only Helm needs. */
const HELM_LABELS = ['app.kubernetes.io/instance', 'app.kubernetes.io/version', 'app.kubernetes.io/managed-by', 'helm.sh/chart'];

const { values: options } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'deploy', 'kubernetes') } } });
const { path: helm, missing } = await installHelm();
if (helm === undefined) exitWith(missing);

const base = await render({ values: [COMMON, BASE] });
writeBase();
await writeRedis();
for (const component of COMPONENTS) await writeComponent(component);
await writeAiGateway();

function writeBase() {
  write('base/config-map.yaml', textOf(ofKinds(base, ['ConfigMap'])));
  write('base/deployment.yaml', textOf(ofKinds(base, ['Deployment', 'PodDisruptionBudget'])));
  write('base/service.yaml', textOf(ofKinds(base, ['Service'])));
  writeKustomization('base', {
    about: 'Weir with the example limits, on the Redis weir-redis. Your overlay brings limits and Redis of its own (overlays/example).',
    content: { resources: ['config-map.yaml', 'deployment.yaml', 'service.yaml'] },
  });
}

async function writeRedis() {
  const added = addedTo(base, await render({ values: [COMMON, REDIS] }));
  write('redis/redis.yaml', textOf(added));
  writeKustomization('redis', { about: 'A Redis for a try.', content: { resources: ['redis.yaml'] } });
}

async function writeAiGateway() {
  const rendered = await render({ preset: AI_GATEWAY_PRESET, values: [{ serviceAccount: { create: false } }] });
  write('ai-gateway/rate-limit.yaml', textOf(ofKinds(rendered, ['Deployment', 'PodDisruptionBudget', 'Service'])));
}

/** @param {import('./kustomize/parts.mjs').Component} component */
async function writeComponent({ name, about, values }) {
  const folder = `components/${name}`;
  const rendered = await render({ values: [COMMON, BASE, values] });
  const added = addedTo(base, rendered);
  const patches = rendered.flatMap((after) => {
    const before = base.find((document) => idOf(document) === idOf(after));
    return before === undefined || before.toString() === after.toString() ? [] : [patchOf(objectOf(before), objectOf(after))];
  });
  if (added.length > 0) write(`${folder}/resources.yaml`, textOf(added));
  if (patches.length > 0) write(`${folder}/patch.yaml`, patches.map((patch) => stringify(patch, { lineWidth: 0 })).join('---\n'));
  writeKustomization(folder, {
    about,
    kind: 'Component',
    content: {
      ...(added.length > 0 && { resources: ['resources.yaml'] }),
      ...(patches.length > 0 && { patches: [{ path: 'patch.yaml' }] }),
    },
  });
}

/**
 * The objects that the chart makes of values, without hooks.
 *
 * @param {{ preset?: string, values: readonly Values[] }} wanted
 */
async function render({ preset, values }) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-values-'));
  try {
    const presets = preset === undefined ? [] : [join(CHART, 'presets', `${preset}.yaml`)];
    const files = values.map((content, place) => {
      const file = join(folder, `${place}.json`);
      writeFileSync(file, JSON.stringify(content));
      return file;
    });
    const args = [
      'template',
      'weir',
      CHART,
      '--no-hooks',
      '--kube-version',
      KUBERNETES,
      ...[...presets, ...files].flatMap((file) => ['--values', file]),
    ];
    const { code, output } = await run(/** @type {string} */ (helm), args, { timeoutS: RENDER_TIMEOUT_S, output: 'pipe' });
    if (code !== 0) exitWith(output);
    const documents = /** @type {YamlDocument[]} */ (parseAllDocuments(output.replaceAll(/^# Source: .*\n/gm, '')));
    return documents.filter(({ contents }) => contents !== null).map(withoutHelmLabels);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {YamlDocument} document */
function withoutHelmLabels(document) {
  const selector = ['spec', 'selector'];
  const places = [
    ['metadata', 'labels'],
    ['spec', 'template', 'metadata', 'labels'],
    selector,
    [...selector, 'matchLabels'],
    ['spec', 'podSelector', 'matchLabels'],
  ];
  for (const place of places) for (const label of HELM_LABELS) if (document.hasIn(place)) document.deleteIn([...place, label]);
  removeDeep(document.get('spec'));
  return document;
}

/**
 * Selectors also stand in lists: spread constraints, and peers of policies.
 *
 * @param {unknown} node
 */
function removeDeep(node) {
  if (typeof node !== 'object' || node === null || !('items' in node)) return;
  const { items } = /** @type {{ items: unknown[] }} */ (node);
  for (const item of items) {
    const pair = /** @type {{ key?: { value?: unknown }, value?: unknown }} */ (item);
    if (pair.key?.value === 'matchLabels')
      for (const label of HELM_LABELS) /** @type {import('yaml').YAMLMap} */ (pair.value).delete(label);
    removeDeep(pair.key === undefined ? item : pair.value);
  }
}

/**
 * @param {readonly YamlDocument[]} documents
 * @param {readonly string[]} kinds
 */
function ofKinds(documents, kinds) {
  const order = (/** @type {YamlDocument} */ document) => kinds.indexOf(String(document.get('kind')));
  return documents.filter((document) => order(document) >= 0).sort((one, other) => order(one) - order(other));
}

/**
 * @param {readonly YamlDocument[]} before
 * @param {readonly YamlDocument[]} after
 */
function addedTo(before, after) {
  const known = new Set(before.map(idOf));
  return after.filter((document) => !known.has(idOf(document)));
}

/** @param {YamlDocument} document */
function idOf(document) {
  const { kind, metadata } = objectOf(document);
  return `${kind} ${metadata.name}`;
}

/** @param {YamlDocument} document */
function objectOf(document) {
  /** @type {unknown} */
  const object = document.toJS();
  return /** @type {KubernetesObject & Identified} */ (object);
}

/** @param {readonly YamlDocument[]} documents */
function textOf(documents) {
  return documents
    .map((document) => document.toString({ lineWidth: 0, directives: false, flowCollectionPadding: false }).trimStart())
    .join('---\n');
}

/**
 * @param {string} folder
 * @param {{ about: string, kind?: string, content: object }} kustomization
 */
function writeKustomization(folder, { about, kind = 'Kustomization', content }) {
  const version = kind === 'Component' ? 'v1alpha1' : 'v1beta1';
  write(
    `${folder}/kustomization.yaml`,
    `# ${about}\n${stringify({ apiVersion: `kustomize.config.k8s.io/${version}`, kind, ...content }, { lineWidth: 0 })}`,
  );
}

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  const file = join(options.out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${WRITTEN}${text}`);
}
