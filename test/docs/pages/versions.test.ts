/** The page of versions has those that the tests run with. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const PAGE = readFileSync('docs/versions.md', 'utf8');

/** The version that a file pins in a constant of this name. */
function pinned(file: string, pattern: RegExp): string[] {
  const versions = Array.from(readFileSync(file, 'utf8').matchAll(pattern), ([, version]) => version!);
  expect(versions).not.toEqual([]);
  return versions;
}

test.each([
  ['Envoy', 'scripts/install/envoy.mjs', /ENVOY_VERSION = '([\d.]+)'/g],
  ['Node', 'scripts/install/node-versions.mjs', /nodeOf\('([\d.]+)'\)/g],
  ['Envoy Gateway', 'test/kubernetes/go/envoy-gateway-config/go.mod', /envoyproxy\/gateway v([\d.]+)/g],
  ['Kubernetes', 'scripts/install/kubernetes/schemas.mjs', /'v(\d+\.\d+)\.\d+'/g],
  ['Helm', 'scripts/install/go/helm.mjs', /HELM_VERSION = 'v([\d.]+)'/g],
  ['kustomize', 'scripts/install/go/kustomize.mjs', /KUSTOMIZE_VERSION = 'v([\d.]+)'/g],
  ['Caddy', 'scripts/install/go/caddy.mjs', /CADDY_VERSION = 'v([\d.]+)'/g],
  ['Traefik', 'scripts/install/traefik.mjs', /TRAEFIK_VERSION = '([\d.]+)'/g],
])('the row of %s has the version that is pinned', (name, file, pattern) => {
  const row = PAGE.split('\n').find(
    (line) =>
      line.startsWith('|') &&
      line
        .split('|')[1]!
        .split(',')
        .some((each) => each.trim() === name),
  );
  expect(row).toBeDefined();
  for (const version of pinned(file, pattern)) expect(row).toContain(version);
});

test('a version that a comment in deploy/envoy asks for is not newer than the Envoy that is tested', () => {
  const [tested = ''] = pinned('scripts/install/envoy.mjs', /ENVOY_VERSION = '1\.(\d+)/g);
  const files = readdirSync('deploy/envoy', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
  const asked = files.flatMap((file) =>
    Array.from(readFileSync(path.join('deploy/envoy', file), 'utf8').matchAll(/Envoy 1\.(\d+)/g), ([, minor]) => Number(minor)),
  );
  expect(asked.length).toBeGreaterThan(5);
  expect(Math.max(...asked)).toBeLessThanOrEqual(Number(tested));
});
