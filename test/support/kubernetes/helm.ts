/** Helm on the chart of deploy/helm: what it renders, or the message with which it refuses values. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { runCommand, type CommandResult } from '../processes/command';
import { installed } from '../processes/installed';

export const CHART = resolve(__dirname, '..', '..', '..', 'deploy', 'helm', 'weir');
export const PRESETS = ['standalone', 'istio', 'ai-gateway', 'envoy-gateway'] as const;

/** Values of the chart, as in a values file. */
export type Values = Readonly<Record<string, unknown>>;

/** What the tests read of an object of Kubernetes. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface Release {
  readonly preset?: (typeof PRESETS)[number];
  readonly values?: Values;
  readonly kubernetes?: string;
}

/** The values that each preset leaves to the user. */
const MISSING: Readonly<Record<string, Values>> = {
  istio: { config: { existingConfigMap: 'limits' }, redis: { url: 'redis:6379' }, test: { domain: 'payments' } },
};

const NEWEST = 'v1.37.0';

/** `helm template` as it ends: with manifests, or with the reason why not. */
export async function template({ preset, values = {}, kubernetes = NEWEST }: Release): Promise<CommandResult> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-values-'));
  const file = (name: string, content: Values): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const files = [...presetFiles(preset), file('missing.json', MISSING[preset ?? ''] ?? {}), file('values.json', values)];
  try {
    return await helm([
      'template',
      'weir',
      CHART,
      '--kube-version',
      kubernetes,
      '--namespace',
      'limits',
      ...files.flatMap((path) => ['--values', path]),
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The manifests as text; refused values are an error. */
export async function renderText(release: Release): Promise<string> {
  const { exitCode, stdout, stderr } = await template(release);
  if (exitCode !== 0) throw new Error(`helm template: ${stderr}`);
  return stdout;
}

export async function render(release: Release): Promise<readonly Rendered[]> {
  return objectsOf(await renderText(release));
}

/** The objects of a text with manifests. */
export function objectsOf(text: string): readonly Rendered[] {
  const documents = parseAllDocuments(text, { strict: true, uniqueKeys: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(problem.message);
    const object = document.toJS() as Rendered | null;
    return object === null ? [] : [object];
  });
}

export function presetFiles(preset: string | undefined): readonly string[] {
  return preset === undefined ? [] : [join(CHART, 'presets', `${preset}.yaml`)];
}

export function helm(args: readonly string[]): Promise<CommandResult> {
  return runCommand(installed('WEIR_HELM', 'install/go/helm.mjs'), args);
}
