/** The Kubernetes manifests parse, agree with each other, and contain the example of the docs. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { SETTINGS_TABLE } from '../../src/configuration/settings/table/settings-table';
import { DEPLOY, documentsOf, type Manifest } from './manifests';

const FILES = ['base/config-map.yaml', 'base/deployment.yaml', 'base/service.yaml', 'redis/redis.yaml'];
const manifests = FILES.flatMap((file) => documentsOf(`kubernetes/${file}`)) as Manifest[];

function find(kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

const pod = find('Deployment', 'weir').spec.template;
const [weir] = pod.spec.containers;
const environment = new Map(weir.env?.map(({ name, value }) => [name, value]));

test('the kustomizations list every file, and no file names a namespace', () => {
  const resourcesOf = (folder: string): readonly string[] => {
    const [{ resources }] = documentsOf(`kubernetes/${folder}kustomization.yaml`) as [{ resources: readonly string[] }];
    return resources.flatMap((name) => (name.endsWith('.yaml') ? [`${folder}${name}`] : resourcesOf(`${folder}${name}/`)));
  };
  expect(resourcesOf('')).toEqual(FILES);
  for (const { metadata } of manifests) expect(metadata.namespace).toBeUndefined();
});

test('the ConfigMap holds the example config; if not, run scripts/generate/chart.mjs, then scripts/generate/kubernetes.mjs', () => {
  expect(find('ConfigMap', 'weir-config').data).toEqual({
    'payments.yaml': readFileSync(resolve(DEPLOY, 'example', 'payments.yaml'), 'utf8'),
  });
});

test('the ConfigMap is mounted where the RUNTIME_ variables point', () => {
  const folder = ['RUNTIME_ROOT', 'RUNTIME_SUBDIRECTORY', 'RUNTIME_APPDIRECTORY'].map((name) => environment.get(name)).join('/');
  expect(weir.volumeMounts).toContainEqual(expect.objectContaining({ name: 'config', mountPath: folder }));
  expect(pod.spec.volumes).toContainEqual({ name: 'config', configMap: { name: 'weir-config' } });
});

test('every variable of the Deployment is a setting of the server', () => {
  const settings = Object.values(SETTINGS_TABLE).map(({ name }) => name);
  expect(environment.size).toBeGreaterThan(0);
  expect(settings).toEqual(expect.arrayContaining([...environment.keys()]));
});

test('the network policy selects the pods of Weir and names their ports, except the one that decides without credentials', () => {
  const [policy] = documentsOf('kubernetes/components/network-policy/resources.yaml') as [
    { spec: { podSelector: { matchLabels: object }; ingress: { ports: { port: number }[] }[] } },
  ];
  expect(pod.metadata.labels).toMatchObject(policy.spec.podSelector.matchLabels);
  const ports = policy.spec.ingress.flatMap((rule) => rule.ports.map(({ port }) => port));
  const named = weir.ports.filter(({ containerPort }) => ports.includes(containerPort)).map(({ name }) => name);
  expect(ports).toHaveLength(2);
  expect(named).toEqual(['grpc', 'debug']);
});

test('the ports of variables, containers and services agree', () => {
  const ports = new Map(weir.ports.map(({ name, containerPort }) => [name, containerPort]));
  expect(Object.fromEntries(ports)).toEqual({
    http: Number(environment.get('PORT')),
    grpc: Number(environment.get('GRPC_PORT')),
    debug: Number(environment.get('DEBUG_PORT')),
  });
  for (const service of ['weir', 'weir-headless'].map((name) => find('Service', name))) {
    expect(pod.metadata.labels).toMatchObject(service.spec.selector);
    for (const { port, targetPort } of service.spec.ports) expect(port).toBe(ports.get(targetPort));
    expect(service.spec.ports).toContainEqual({ name: 'grpc', port: 8081, targetPort: 'grpc', appProtocol: 'grpc' });
  }
  expect(find('Service', 'weir').spec.ports.map(({ port }) => port)).toEqual([8080, 8081, 6070]);
  expect(find('Service', 'weir-headless').spec.clusterIP).toBe('None');
});

test('REDIS_URL is the Redis service, and that Redis evicts nothing', () => {
  const redis = find('Service', 'weir-redis');
  expect(environment.get('REDIS_URL')).toBe(`${redis.metadata.name}:${redis.spec.ports[0]!.port}`);
  const server = find('Deployment', 'weir-redis').spec.template;
  expect(server.metadata.labels).toMatchObject(redis.spec.selector);
  expect(server.spec.containers[0]).toMatchObject({ args: expect.arrayContaining(['--maxmemory-policy', 'noeviction']) as unknown });
});

test('the pods are restricted, and Redis trouble restarts none of them', () => {
  for (const { spec } of [pod, find('Deployment', 'weir-redis').spec.template]) {
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
  expect(weir.readinessProbe).toMatchObject({ httpGet: { path: '/healthcheck', port: 'http' } });
  expect(weir.livenessProbe).toMatchObject({ tcpSocket: { port: 'http' } });
});

test('the image has this version, built by the command that other manifests use', () => {
  const { version } = JSON.parse(readFileSync(resolve(DEPLOY, '..', 'package.json'), 'utf8')) as { version: string };
  expect(weir.image).toBe(`weir:${version}`);
  expect(weir.command).toEqual(['/bin/ratelimit']);
});
