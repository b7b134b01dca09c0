/** deploy/compose.yaml as the reader of `docker compose` understands it. */
import path from 'node:path';
import { runCommand } from '../processes/command';

const ROOT = path.resolve(__dirname, '..', '..', '..');
export const COMPOSE_FILE = path.join(ROOT, 'deploy', 'compose.yaml');

/** Where scripts/install/go/compose-reader.mjs puts it. */
const INSTALLED = path.join(ROOT, '.cache', 'compose-reader', 'v2.16.2');

export interface Service {
  readonly image: string;
  readonly build?: unknown;
  readonly pull_policy?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly deploy?: { readonly replicas: number };
  readonly stop_grace_period?: string;
  readonly volumes?: readonly { readonly type: string; readonly source: string; readonly target: string; readonly read_only?: boolean }[];
  readonly ports?: readonly { readonly host_ip?: string; readonly published: string; readonly target: number }[];
}

export type Services = Readonly<Record<'envoy' | 'weir' | 'redis' | 'backend' | 'prometheus' | 'grafana', Service>>;

/** Rejects with the reader's own words for a file that it refuses. Paths of the machine are absolute. */
export async function readCompose(file = COMPOSE_FILE): Promise<Services> {
  const { exitCode, stdout, stderr } = await runCommand(process.env.WEIR_COMPOSE_READER ?? INSTALLED, ['-format', 'json', file], {
    // Compose resolves paths from the folder of its file.
    cwd: path.dirname(file),
  });
  if (exitCode !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { services: Services }).services;
}

/** The file or folder of the machine that a path in the container is. */
export function sourceOf(service: Service, target: string): string {
  for (const volume of service.volumes ?? []) {
    const below = path.posix.relative(volume.target, target);
    if (!below.startsWith('..')) return path.join(volume.source, below);
  }
  throw new Error(`no volume is mounted at ${target}`);
}
