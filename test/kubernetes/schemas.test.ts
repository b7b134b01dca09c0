/** The published manifests conform to the schemas of every Kubernetes version, and of the custom resources that they use. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceOf, kubernetesVersions } from '../support/kubernetes/kubeconform';
import { DEPLOY } from '../deploy/manifests';
import { figure } from '../support/docs/figure';

/** Folders of manifests, and a file among others that are none. */
const PUBLISHED = ['kubernetes', 'istio', 'envoy-gateway/policies.yaml', 'prometheus/prometheus-rule.yaml'].map((path) =>
  join(DEPLOY, path),
);

/** Files for kustomize. */
const NOT_MANIFESTS = 'kustomization.yaml';

function manifestFiles(path: string): string[] {
  if (path.endsWith('.yaml')) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.yaml') && !file.endsWith(NOT_MANIFESTS)).map((file) => join(path, file));
}

test('the published manifests conform to the schemas of each Kubernetes version', async () => {
  const files = PUBLISHED.flatMap(manifestFiles);
  const versions = kubernetesVersions();
  expect(versions.length).toBeGreaterThan(3);
  for (const version of versions) {
    const { count, problems } = await conformanceOf(files, { version });
    expect({ version, problems }).toEqual({ version, problems: [] });
    expect(count).toBeGreaterThan(10);
    if (version === versions.at(-1)) figure(`${count} manifests, Kubernetes ${versions.join(', ')}`);
  }
});

describe('a manifest with a mistake', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-manifest-'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  test.each([
    {
      mistake: 'an unknown field',
      file: 'kubernetes/deployment.yaml',
      from: 'replicas:',
      to: 'replicsa:',
      problem: "'replicsa' not allowed",
    },
    {
      mistake: 'a text as a port',
      file: 'kubernetes/deployment.yaml',
      from: 'containerPort: 8081',
      to: 'containerPort: grpc',
      problem: 'want integer',
    },
    {
      mistake: 'an unknown field of a custom resource',
      file: 'istio/envoyfilter.yaml',
      from: 'configPatches:',
      to: 'patches:',
      problem: "'patches' not allowed",
    },
    {
      mistake: 'ratelimit in other letters',
      file: 'envoy-gateway/policies.yaml',
      from: '  rateLimit:',
      to: '  ratelimit:',
      problem: "'ratelimit' not allowed",
    },
    {
      mistake: 'an unknown kind',
      file: 'kubernetes/service.yaml',
      from: 'kind: Service',
      to: 'kind: Sevrice',
      problem: 'could not find schema',
    },
  ])('with $mistake does not conform', async ({ file, from, to, problem }) => {
    const path = join(folder, 'manifest.yaml');
    writeFileSync(path, readFileSync(join(DEPLOY, file), 'utf8').replace(from, to));
    const { problems } = await conformanceOf([path], { version: kubernetesVersions().at(-1)! });
    expect(problems.join('\n')).toContain(problem);
  });
});
