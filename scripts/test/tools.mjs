/** The tools that stages need besides the npm packages: how each is installed, and the variable that passes its path to the tests. */
import { buildDist } from '../build/build-dist.mjs';
import { installBubblewrap } from '../install/system/bubblewrap.mjs';
import { installAsgi } from '../install/asgi.mjs';
import { installApache } from '../install/system/apache.mjs';
import { installCaddy } from '../install/go/caddy.mjs';
import { installChromium } from '../install/system/chromium.mjs';
import { installDockerRegistry } from '../install/system/docker-registry.mjs';
import { installActionlint } from '../install/go/actionlint.mjs';
import { installComposeReader } from '../install/go/compose-reader.mjs';
import { installCosign } from '../install/go/cosign.mjs';
import { planFetches } from '../install/fetch/fetch-plan.mjs';
import { installNpmPackages } from '../install/npm-packages.mjs';
import { installEnvoy } from '../install/envoy.mjs';
import { installEnvoyGatewayConfig } from '../install/go/envoy-gateway-config.mjs';
import { installEnvoyGatewayModule } from '../install/go/envoy-gateway-module.mjs';
import { installGoClient } from '../install/go/go-client.mjs';
import { installGrpcio } from '../install/grpcio.mjs';
import { installH2load } from '../install/system/h2load.mjs';
import { installH2spec } from '../install/go/h2spec.mjs';
import { installHaproxy } from '../install/system/haproxy.mjs';
import { installHelm } from '../install/go/helm.mjs';
import { installKubeconform } from '../install/go/kubeconform.mjs';
import { installKubernetesApiServer } from '../install/kubernetes/api-server.mjs';
import { installKubernetesSchemas } from '../install/kubernetes/schemas.mjs';
import { installKustomize } from '../install/go/kustomize.mjs';
import { installLuacheck } from '../install/system/luacheck.mjs';
import { installNginx } from '../install/system/nginx.mjs';
import { installNodeVersions } from '../install/node-versions.mjs';
import { installOlderEnvoys } from '../install/older-envoys.mjs';
import { installOras } from '../install/go/oras.mjs';
import { installOpenApiPythonClient } from '../install/openapi-python-client.mjs';
import { installSitePackages } from '../install/site-packages.mjs';
import { installPrometheus, installPromtool } from '../install/system/prometheus.mjs';
import { installEngine, installRedisVersions } from '../install/redis-versions.mjs';
import { installRedis } from '../install/system/redis.mjs';
import { installFish, installZsh } from '../install/system/shells.mjs';
import { installTraefik } from '../install/traefik.mjs';
import { buildTestedSite } from '../site/build-site.mjs';
import { installVerdaccio } from '../install/verdaccio.mjs';

/** @typedef {import('./stages.mjs').Need} Need */
/** @typedef {import('./stages.mjs').Stage} Stage */

/**
 * @typedef {object} Prepared
 * @property {NodeJS.ProcessEnv} [env] For the tests.
 * @property {string} [node] The Node that the stage runs on, and everything it starts.
 * @property {string} [missing] Why the tool is missing, and what to do.
 * @property {string | undefined} [failure] Why the build failed.
 */

/** @type {Readonly<Record<Need, () => Promise<Prepared>>>} */
const PREPARE = {
  build: async () => ({ failure: await buildDist() }),
  redis: prepareTool('WEIR_REDIS_SERVER', installRedis),
  // The tests look for the binaries themselves, and each test reports when its version is missing.
  redisVersions: async () => {
    await installRedisVersions();
    return {};
  },
  'redis-6.0.5': prepareTool('WEIR_REDIS_SERVER', () => installEngine('redis-6.0.5')),
  'redis-6.2.14': prepareTool('WEIR_REDIS_SERVER', () => installEngine('redis-6.2.14')),
  'redis-8.2.3': prepareTool('WEIR_REDIS_SERVER', () => installEngine('redis-8.2.3')),
  'valkey-8.1.8': prepareTool('WEIR_REDIS_SERVER', () => installEngine('valkey-8.1.8')),
  'valkey-9.1.2': prepareTool('WEIR_REDIS_SERVER', () => installEngine('valkey-9.1.2')),
  // The same for the shells.
  shells: async () => {
    const [zsh, fish] = [await installZsh(), await installFish()];
    return { env: { WEIR_ZSH: zsh.path, WEIR_FISH: fish.path } };
  },
  nodeVersions: async () => {
    const { path, missing } = await installNodeVersions();
    return missing === undefined ? { node: path } : { missing };
  },
  luacheck: prepareTool('WEIR_LUACHECK', installLuacheck),
  envoy: prepareTool('WEIR_ENVOY', installEnvoy),
  // The tests look for the binaries themselves.
  olderEnvoys: async () => {
    await installOlderEnvoys();
    return {};
  },
  envoyGatewayConfig: prepareTool('WEIR_ENVOY_GATEWAY_CONFIG', installEnvoyGatewayConfig),
  envoyGatewayModule: prepareTool('WEIR_ENVOY_GATEWAY_MODULE', installEnvoyGatewayModule),
  h2spec: prepareTool('WEIR_H2SPEC', installH2spec),
  goClient: prepareTool('WEIR_GO_CLIENT', installGoClient),
  grpcio: prepareTool('WEIR_GRPCIO', installGrpcio),
  asgi: prepareTool('WEIR_ASGI', installAsgi),
  openApiPythonClient: prepareTool('WEIR_OPENAPI_PYTHON_CLIENT', installOpenApiPythonClient),
  actionlint: prepareTool('WEIR_ACTIONLINT', installActionlint),
  composeReader: prepareTool('WEIR_COMPOSE_READER', installComposeReader),
  oras: prepareTool('WEIR_ORAS', installOras),
  cosign: prepareTool('WEIR_COSIGN', installCosign),
  dockerRegistry: prepareTool('WEIR_DOCKER_REGISTRY', installDockerRegistry),
  verdaccio: prepareTool('WEIR_VERDACCIO', installVerdaccio),
  bubblewrap: prepareTool('WEIR_BUBBLEWRAP', installBubblewrap),
  chromium: prepareTool('WEIR_CHROMIUM', installChromium),
  site: async () => {
    const { missing } = await installSitePackages();
    if (missing !== undefined) return { missing };
    const { path, failure } = await buildTestedSite();
    return failure === undefined ? { env: { WEIR_SITE: path } } : { failure };
  },
  h2load: prepareTool('WEIR_H2LOAD', installH2load),
  prometheus: prepareTool('WEIR_PROMETHEUS', installPrometheus),
  promtool: prepareTool('WEIR_PROMTOOL', installPromtool),
  nginx: prepareTool('WEIR_NGINX', installNginx),
  haproxy: prepareTool('WEIR_HAPROXY', installHaproxy),
  apache: prepareTool('WEIR_APACHE', installApache),
  caddy: prepareTool('WEIR_CADDY', installCaddy),
  traefik: prepareTool('WEIR_TRAEFIK', installTraefik),
  helm: prepareTool('WEIR_HELM', installHelm),
  kustomize: prepareTool('WEIR_KUSTOMIZE', installKustomize),
  kubeconform: prepareTool('WEIR_KUBECONFORM', installKubeconform),
  kubernetesApiServer: prepareTool('WEIR_KUBERNETES_API_SERVER', installKubernetesApiServer),
  kubernetesSchemas: prepareTool('WEIR_KUBERNETES_SCHEMAS', installKubernetesSchemas),
};

/**
 * Those that prepare several tools, one after the other: each may be missing. One that asks Go for a module cannot know before.
 *
 * @type {Partial<Record<Need, readonly (() => Promise<unknown>)[]>>}
 */
const PLANNED = { shells: [installZsh, installFish], site: [installSitePackages], envoyGatewayModule: [] };

/**
 * @param {string} variable
 * @param {() => Promise<import('../install/fetch/tool.mjs').Tool>} install
 * @returns {() => Promise<Prepared>}
 */
function prepareTool(variable, install) {
  return async () => {
    const { path, missing } = await install();
    return missing === undefined ? { env: { [variable]: path } } : { missing };
  };
}

/**
 * What will be fetched for the stages, in lines.
 *
 * @param {readonly Stage[]} stages
 */
export function planTools(stages) {
  const needs = new Set(stages.flatMap(({ needs: own = [] }) => own));
  const installers = [...needs].filter((need) => need !== 'build').flatMap((need) => PLANNED[need] ?? [PREPARE[need]]);
  return planFetches([installNpmPackages, ...installers]);
}

/**
 * Prepares what the stages need, one after the other, because two installers at the same time may disturb each other. A stage that builds
 * provides the build for the others.
 *
 * @param {readonly Stage[]} stages
 */
export async function prepareTools(stages) {
  /** @type {Map<Need, Prepared>} */
  const prepared = new Map();
  for (const need of new Set(stages.flatMap(({ needs = [] }) => needs))) {
    const isBuilt = need === 'build' && stages.some((stage) => stage.build === true);
    prepared.set(need, isBuilt ? {} : await prepare(need));
  }
  return prepared;
}

/**
 * An installer that fails in a way nobody expected takes its stages away, not all of them.
 *
 * @param {Need} need
 * @returns {Promise<Prepared>}
 */
async function prepare(need) {
  try {
    return await PREPARE[need]();
  } catch (error) {
    return { missing: `The preparation of ${need} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}` };
  }
}
