/** Envoy Gateway knows every field of the published configuration, and finds mistakes in it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SETTINGS_TABLE } from '../../src/configuration/settings/table/settings-table';
import { DEPLOY, documentsOf } from '../deploy/manifests';
import { runCommand } from '../support/processes/command';
import { installed } from '../support/processes/installed';

const CONFIG = join(DEPLOY, 'envoy-gateway', 'envoy-gateway.yaml');

interface EnvoyGateway {
  readonly provider: {
    readonly kubernetes: {
      readonly rateLimitDeployment: { readonly container: { readonly image: string; readonly env: readonly { readonly name: string }[] } };
    };
  };
}

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-envoy-gateway-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What Envoy Gateway has against it; nothing if it accepts it. */
async function complaints(file: string): Promise<string> {
  const program = installed('WEIR_ENVOY_GATEWAY_CONFIG', 'install/go/envoy-gateway-config.mjs');
  const { exitCode, stderr } = await runCommand(program, [file]);
  expect(exitCode).toBe(stderr === '' ? 0 : 1);
  return stderr;
}

test('Envoy Gateway reads deploy/envoy-gateway/envoy-gateway.yaml, and knows every field', async () => {
  expect(await complaints(CONFIG)).toBe('');
});

test.each([
  ['the letters of a field', 'rateLimit:\n', 'ratelimit:\n', 'unknown field "ratelimit"'],
  ['the name of the autoscaler', 'rateLimitHpa:', 'rateLimitHPA:', 'unknown field "provider.kubernetes.rateLimitHPA"'],
  ['the place of the image', 'container:\n        image:', 'container:\n        imageName:', 'unknown field'],
  ['a switch that is text', 'failClosed: false', 'failClosed: maybe', 'failClosed'],
  [
    'two addresses of Redis',
    'url: redis.example.com:6379',
    'url: redis.example.com:6379\n      urlRef: {secretKeyRef: {name: a, key: b}}',
    'redis',
  ],
])('a mistake in it is found: %s', async (_, from, to, problem) => {
  const text = readFileSync(CONFIG, 'utf8');
  expect(text).toContain(from);
  const file = join(folder, 'envoy-gateway.yaml');
  writeFileSync(file, text.replace(from, to));
  expect(await complaints(file)).toContain(problem);
});

test('every variable in it is a setting of Weir, and the image is this version', () => {
  const [{ provider }] = documentsOf('envoy-gateway/envoy-gateway.yaml') as [EnvoyGateway];
  const { image, env } = provider.kubernetes.rateLimitDeployment.container;
  expect(Object.values(SETTINGS_TABLE).map(({ name }) => name)).toEqual(expect.arrayContaining(env.map(({ name }) => name)));
  const { version } = JSON.parse(readFileSync(join(DEPLOY, '..', 'package.json'), 'utf8')) as { version: string };
  expect(image).toBe(`registry.example.com/weir:${version}`);
});
