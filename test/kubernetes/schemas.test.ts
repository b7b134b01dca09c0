/** The published manifests conform to the schemas of the oldest and newest Kubernetes, and of their custom resources. */
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

/** Files for kustomize: what it builds, patches, and the limits of the example; and tests of limits. */
const NOT_MANIFESTS = ['kustomization.yaml', 'patch.yaml', 'limits.yaml', '.test.yaml'];

function manifestFiles(path: string): string[] {
  if (path.endsWith('.yaml')) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.yaml') && !NOT_MANIFESTS.some((name) => file.endsWith(name)))
    .map((file) => join(path, file));
}

test('the published manifests conform to the schemas of the oldest and the newest Kubernetes', async () => {
  const files = PUBLISHED.flatMap(manifestFiles);
  const versions = [kubernetesVersions().at(0)!, kubernetesVersions().at(-1)!];
  for (const version of versions) {
    const { count, problems } = await conformanceOf(files, { version });
    expect({ version, problems }).toEqual({ version, problems: [] });
    expect(count).toBeGreaterThan(10);
    if (version === versions.at(-1)) figure(`${count} manifests, Kubernetes ${versions.join(', ')}`);
  }
});

const MISTAKES = [
  {
    mistake: 'unknown-field',
    file: 'kubernetes/base/deployment.yaml',
    from: 'replicas:',
    to: 'replicsa:',
    problem: "'replicsa' not allowed",
  },
  {
    mistake: 'text-as-port',
    file: 'kubernetes/base/deployment.yaml',
    from: 'containerPort: 8081',
    to: 'containerPort: grpc',
    problem: 'want integer',
  },
  { mistake: 'custom-field', file: 'istio/envoyfilter.yaml', from: 'configPatches:', to: 'patches:', problem: "'patches' not allowed" },
  {
    mistake: 'other-letters',
    file: 'envoy-gateway/policies.yaml',
    from: '  rateLimit:',
    to: '  ratelimit:',
    problem: "'ratelimit' not allowed",
  },
  {
    mistake: 'unknown-kind',
    file: 'kubernetes/base/service.yaml',
    from: 'kind: Service',
    to: 'kind: Sevrice',
    problem: 'could not find schema',
  },
];

test('manifests with an unknown field, kind or type do not conform', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-manifest-'));
  try {
    for (const { mistake, file, from, to } of MISTAKES)
      writeFileSync(join(folder, `${mistake}.yaml`), readFileSync(join(DEPLOY, file), 'utf8').replace(from, to));
    const { problems } = await conformanceOf([folder], { version: kubernetesVersions().at(-1)! });
    for (const { mistake, problem } of MISTAKES)
      expect(problems.filter((line) => line.includes(`/${mistake}.yaml`)).join('\n')).toContain(problem);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
