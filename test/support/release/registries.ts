/** Registries on this machine to which a release is published: one of images and charts, one of npm packages. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { until } from '../clock/until';
import { httpRequest } from '../clients/http-client';
import { startChild, waitUntilReady, type Child } from '../processes/child-process';
import { freePort } from '../servers/ports';
import { listNodes } from '../versions/node-versions';

const CACHE = path.resolve(__dirname, '..', '..', '..', '.cache');
const READY_MS = 60_000;

export interface Registry {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  /** The manifests or the packages that were written, in their order: `org/weir:1.1.0`, `@org/client`. */
  written(): readonly string[];
  stop(): Promise<unknown>;
}

/** The registry of Debian, which is that of Docker. */
export async function startImageRegistry(folder: string): Promise<Registry> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const [config, log] = [path.join(folder, 'config.yml'), path.join(folder, 'requests.log')];
  writeFileSync(
    config,
    `version: 0.1\nlog: { level: error }\nstorage: { filesystem: { rootdirectory: ${path.join(folder, 'storage')} } }\nhttp: { addr: "127.0.0.1:${port}" }\n`,
  );
  const registry = process.env.WEIR_DOCKER_REGISTRY ?? path.join(CACHE, 'deb', 'missing', 'docker-registry', 'bin', 'docker-registry');
  // Its line for each request goes to a file: a child of the tests keeps the last lines only.
  const child = startChild({ command: 'sh', args: ['-c', `exec "${registry}" serve "${config}" > "${log}" 2>&1`] });
  await answers(child, 'docker-registry', `http://127.0.0.1:${port}/v2/`);
  return {
    address: `127.0.0.1:${port}`,
    written: () =>
      Array.from(
        readFileSync(log, 'utf8').matchAll(/"PUT \/v2\/(\S+)\/manifests\/(\S+) HTTP[^"]*" 201/g),
        ([, name, tag]) => `${name!}:${tag!}`,
      ),
    stop: () => child.stop(),
  };
}

/** It holds the packages of the scope, and knows no other. */
export async function startPackageRegistry(folder: string): Promise<Registry> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const [config, log] = [path.join(folder, 'config.yml'), path.join(folder, 'requests.log')];
  writeFileSync(
    config,
    `storage: ${path.join(folder, 'storage')}
auth: { htpasswd: { file: ${path.join(folder, 'users')} } }
packages: { '**': { access: $all, publish: $all } }
log: { type: stdout, format: json, level: http }
`,
  );
  const verdaccio = process.env.WEIR_VERDACCIO ?? path.join(CACHE, 'verdaccio', '6.10.4', 'node_modules', 'verdaccio', 'bin', 'verdaccio');
  const command = `exec "${nodeOf()}" "${verdaccio}" --config "${config}" --listen 127.0.0.1:${port} > "${log}" 2>&1`;
  const child = startChild({ command: 'sh', args: ['-c', command] });
  await answers(child, 'verdaccio', `http://127.0.0.1:${port}/-/ping`);
  return {
    address: `127.0.0.1:${port}`,
    written: () => {
      const files = existsSync(path.join(folder, 'storage')) ? readFileSync(log, 'utf8') : '';
      return Array.from(files.matchAll(/"method":"PUT","url":"([^"]+)"[^\n]*"status":201/g), ([, url]) =>
        decodeURIComponent(url!).slice(1),
      );
    },
    stop: () => child.stop(),
  };
}

async function answers(child: Child, name: string, url: string): Promise<void> {
  const isReady = async () => {
    try {
      return (await httpRequest(url)).status === 200;
    } catch {
      return false;
    }
  };
  await waitUntilReady(name, child, isReady, READY_MS);
  await until(isReady);
}

/** Verdaccio needs Node 22. */
function nodeOf(): string {
  const isNew = Number.parseInt(process.versions.node, 10) >= 22;
  return isNew ? process.execPath : listNodes()[0]!.binary;
}
