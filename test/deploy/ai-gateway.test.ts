/** The manifest for Envoy AI Gateway starts a Weir that enforces its quotas. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { SETTINGS_TABLE } from '../../src/configuration/settings/table/settings-table';
import type { WireConfigDescriptor, WireRateLimitConfig } from '../../src/configuration/source/xds/wire';
import { httpRequest } from '../support/clients/http-client';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient, type AskedDescriptor } from '../support/clients/rls-client';
import { until } from '../support/clock/until';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { XdsServer } from '../support/servers/xds-server';
import { DEPLOY, documentsOf, type Manifest } from './manifests';

/** Constants of Envoy AI Gateway. */
const NAME = 'envoy-ai-gateway-ratelimit';
const NAMESPACE = 'envoy-gateway-system';
const DOMAIN = 'ai-gateway-quota';
const XDS_PORT = 18002;

/** What a test can't have as it is in a container. */
const PORTS = ['PORT', 'GRPC_PORT', 'DEBUG_PORT'];

const manifests = documentsOf('kubernetes/ai-gateway/rate-limit.yaml') as Manifest[];

function find(kind: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind);
  if (found === undefined) throw new Error(`there is no ${kind}`);
  return found;
}

const pod = find('Deployment').spec.template;
const [container] = pod.spec.containers;
const environment = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));

describe('the manifest', () => {
  test('every object has the name and namespace where Envoy AI Gateway looks for it', () => {
    expect(manifests.map(({ kind, metadata: { name, namespace } }) => ({ kind, name, namespace }))).toEqual(
      ['Deployment', 'PodDisruptionBudget', 'Service'].map((kind) => ({ kind, name: NAME, namespace: NAMESPACE })),
    );
  });

  test('the service leads to the gRPC port of the pods, at 8081, and resolves to each pod', () => {
    const { spec } = find('Service');
    expect(pod.metadata.labels).toMatchObject(spec.selector);
    expect(spec.ports).toEqual([{ name: 'grpc', port: 8081, targetPort: 'grpc', appProtocol: 'grpc' }]);
    // A port that is reached without a translation has to be the pod's own.
    expect(container.ports).toContainEqual({ name: 'grpc', containerPort: 8081 });
    expect(spec.clusterIP).toBe('None');
  });

  test('every variable is a setting, and the ports agree', () => {
    const settings = Object.values(SETTINGS_TABLE).map(({ name }) => name);
    expect(settings).toEqual(expect.arrayContaining(Object.keys(environment)));
    expect(Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, String(containerPort)]))).toEqual({
      http: environment.PORT,
      grpc: environment.GRPC_PORT,
      debug: environment.DEBUG_PORT,
    });
  });

  test('the pods equal those of deployment.yaml in everything else', () => {
    const [other] = documentsOf('kubernetes/base/deployment.yaml') as Manifest[];
    const published = other!.spec.template.spec;
    expect(pod.spec.securityContext).toEqual(published.securityContext);
    const { readinessProbe, livenessProbe, securityContext, image, command } = published.containers[0];
    expect(container).toMatchObject({ readinessProbe, livenessProbe, securityContext, image, command });
    const { version } = JSON.parse(readFileSync(resolve(DEPLOY, '..', 'package.json'), 'utf8')) as { version: string };
    expect(image).toBe(`weir:${version}`);
  });

  test('the manifest requests the configuration in plaintext, with the node name that the gateway expects', () => {
    expect(environment).toMatchObject({
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: `ai-gateway-controller.envoy-ai-gateway-system.svc.cluster.local:${XDS_PORT}`,
      CONFIG_GRPC_XDS_NODE_ID: NAME,
    });
    expect(environment).not.toHaveProperty('CONFIG_GRPC_XDS_SERVER_USE_TLS');
  });
});

describe('a Weir with the environment of the manifest', () => {
  const BACKEND = 'default/openai';
  /** Of RateLimitConfig. The windows of a QuotaPolicy are at most a day, whose edges a test may meet. */
  const YEAR = 6;

  let server: XdsServer;
  let redis: RedisServer;
  let weir: WeirProcess;
  let client: RlsClient;

  beforeAll(async () => {
    server = await XdsServer.start();
    redis = await startRedis();
    weir = await startWeir({
      env: {
        ...Object.fromEntries(Object.entries(environment).filter(([name]) => !PORTS.includes(name))),
        // Of the test: where its servers are; its ports are free ones.
        CONFIG_GRPC_XDS_SERVER_URL: `localhost:${server.port}`,
        REDIS_URL: `127.0.0.1:${redis.port}`,
        DRAIN_DELAY: '0s',
        REDIS_OP_TIMEOUT: '1s',
      },
    });
    client = new RlsClient(weir.grpcPort);
  });

  afterAll(async () => {
    client.close();
    await weir.stop();
    await redis.stop();
    server.stop();
  });

  /** As the controller makes it of a QuotaPolicy: a level for the backend, one for the model, and below it one for each rule. */
  function quotasOf(models: readonly WireConfigDescriptor[]): WireRateLimitConfig {
    return {
      name: DOMAIN,
      domain: DOMAIN,
      descriptors: [
        { key: 'backend_name', value: BACKEND, descriptors: models.map((model) => ({ key: 'model_name_override', ...model })) },
      ],
    };
  }

  function quota(limit: number): WireConfigDescriptor {
    return { rate_limit: { unit: YEAR, requests_per_unit: limit }, quota_mode: true };
  }

  function entriesOf(model: string, rules: Readonly<Record<string, string>> = {}): AskedDescriptor['entries'] {
    return { backend_name: BACKEND, model_name_override: model, ...rules };
  }

  /** The call at the request: a hit each. */
  async function codeOf(...descriptors: readonly AskedDescriptor['entries'][]): Promise<number | undefined> {
    return (
      await client.ask(
        DOMAIN,
        descriptors.map((entries) => ({ entries })),
      )
    ).overall_code;
  }

  /** The call at the end of the stream, whose answer nobody reads. */
  async function report(tokens: number, ...descriptors: readonly AskedDescriptor['entries'][]): Promise<void> {
    await client.ask(
      DOMAIN,
      descriptors.map((entries) => ({ entries, hits_addend: { value: String(tokens) } })),
    );
  }

  async function serve(version: string, config: WireRateLimitConfig): Promise<void> {
    expect((await server.answerTo(server.send(version, [config]))).error_detail).toBeUndefined();
  }

  test('Weir is ready before a policy exists, and identifies itself as the node of Envoy AI Gateway', async () => {
    const { request } = await server.next(({ request: { node } }) => node !== undefined);
    expect(request.node?.id).toBe(NAME);
    expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).status).toBe(200);
    await expect(codeOf(entriesOf('m'))).rejects.toMatchObject({ details: expect.stringContaining('no configuration') as string });
  });

  test('a response of cost 20 uses up a quota of 10, so the next request is denied', async () => {
    await serve('1', quotasOf([{ value: 'quota-test-model', ...quota(10) }]));
    await until(async () => (await codeOf(entriesOf('another'))) === OK);
    const entries = entriesOf('quota-test-model');
    expect(await codeOf(entries)).toBe(OK);
    await report(20, entries);
    expect(await codeOf(entries)).toBe(OVER_LIMIT);
  });

  test('a quota of 10,000 tokens lets five requests of 2,300 pass', async () => {
    await serve('2', quotasOf([{ value: 'large', ...quota(10_000) }]));
    const codes: (number | undefined)[] = [];
    for (let n = 0; n < 8; n += 1) {
      const code = await codeOf(entriesOf('large'));
      codes.push(code);
      if (code === OK) await report(2_300, entriesOf('large'));
    }
    expect(codes).toEqual([OK, OK, OK, OK, OK, OVER_LIMIT, OVER_LIMIT, OVER_LIMIT]);
  });

  test('a report charges a rule and the default beside it, and a request is denied when both are used up', async () => {
    const [rule, byDefault] = [{ 'rule-0-match-0': 'rule-0-match-0' }, { 'rule-1-match--1': 'rule-1-match--1' }];
    const model = {
      value: 'two',
      descriptors: [
        { key: 'rule-0-match-0', value: 'rule-0-match-0', ...quota(50) },
        { key: 'rule-1-match--1', value: 'rule-1-match--1', ...quota(200) },
      ],
    };
    await serve('3', quotasOf([model]));
    const both = [entriesOf('two', rule), entriesOf('two', byDefault)] as const;
    const codes: (number | undefined)[] = [];
    for (let n = 0; n < 6; n += 1) {
      const code = await codeOf(...both);
      codes.push(code);
      if (code === OK) await report(60, ...both);
    }
    // After 4 x 60, less what the requests themselves cost, the default is used up too; the rule was after the first.
    expect(codes).toEqual([OK, OK, OK, OK, OVER_LIMIT, OVER_LIMIT]);
  });
});
