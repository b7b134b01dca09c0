/** A real kube-apiserver with its etcd on loopback ports: no controllers and no kubelet, so objects are checked and kept, but nothing runs. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { installed } from '../processes/installed';
import { startChild, waitUntilReady, type Child } from '../processes/child-process';
import { makeCertificates } from '../servers/certificates';
import { freePort } from '../servers/ports';

export interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the server warns of: deprecated or unknown fields, and violations of a pod security profile. */
  readonly warnings: readonly string[];
}

export interface ApiServer {
  /** For helm and kubectl. */
  readonly kubeconfig: string;
  send(call: ApiCall): Promise<ApiAnswer>;
  stop(): Promise<void>;
}

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

const TOKEN = 'token-of-the-tests';
const READY_TIMEOUT_MS = 120_000;
const CALL_TIMEOUT_MS = 30_000;

export async function startApiServer(): Promise<ApiServer> {
  const programs = installed('WEIR_KUBERNETES_API_SERVER', 'install/kubernetes/api-server.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'weir-api-server-'));
  const [clientPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const etcd = startChild({
    command: join(programs, 'etcd'),
    args: [
      ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ...['--listen-peer-urls', `http://127.0.0.1:${peerPort}`, '--unsafe-no-fsync=true', '--log-level', 'error'],
    ],
  });
  const { server, ca } = makeCertificates();
  writeFileSync(join(folder, 'tokens.csv'), `${TOKEN},admin,admin,system:masters\n`);
  mkdirSync(join(folder, 'certificates'));
  const api = startChild({
    command: join(programs, 'kube-apiserver'),
    args: [
      `--etcd-servers=${etcdUrl}`,
      '--bind-address=127.0.0.1',
      // It would publish its address, which may not be a loopback one.
      '--endpoint-reconciler-type=none',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      `--tls-cert-file=${server.cert}`,
      `--tls-private-key-file=${server.key}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--authorization-mode=AlwaysAllow',
      '--service-account-issuer=https://localhost',
      `--service-account-key-file=${server.cert}`,
      `--service-account-signing-key-file=${server.key}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      // No controller makes the default service account.
      '--disable-admission-plugins=ServiceAccount',
    ],
  });
  const send = (call: ApiCall): Promise<ApiAnswer> => sendCall(call, { port, ca: readFileSync(ca.cert, 'utf8') });
  const children: readonly Child[] = [api, etcd];
  const isReady = async (): Promise<boolean> => {
    const answer = await send({ method: 'GET', path: '/readyz' }).catch(() => undefined);
    return answer?.status === 200;
  };
  await waitUntilReady('kube-apiserver', api, isReady, READY_TIMEOUT_MS);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf({ port, caFile: ca.cert }));
  return {
    kubeconfig,
    send,
    stop: async () => {
      for (const child of children) await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function sendCall({ method, path, body }: ApiCall, { port, ca }: { readonly port: number; readonly ca: string }): Promise<ApiAnswer> {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        ca,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
        timeout: CALL_TIMEOUT_MS,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => {
          const isJson = answer.headers['content-type']?.includes('json') === true;
          resolve({
            status: answer.statusCode ?? 0,
            body: isJson ? (JSON.parse(text) as Record<string, unknown>) : { text },
            warnings: [answer.headers.warning ?? []].flat(),
          });
        });
      },
    );
    call.on('error', reject).on('timeout', () => call.destroy(new Error(`${method} ${path}: no answer within ${CALL_TIMEOUT_MS} ms`)));
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function kubeconfigOf({ port, caFile }: { readonly port: number; readonly caFile: string }): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': caFile } }],
    users: [{ name: 'test', user: { token: TOKEN } }],
  });
}
