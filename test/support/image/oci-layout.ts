/** A file tree as an image in an OCI layout, as a builder writes it, and back: one layer above an imagined base. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { runCommand } from '../processes/command';
import type { Image } from './build-image';

/** Of the tree, what the Dockerfile put there; the rest is the base. */
const LAYER = ['app', 'bin/ratelimit', 'bin/ratelimit_client', 'bin/ratelimit_config_check', 'bin/weir'];

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface LayoutInput {
  readonly image: Image;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdS: number;
  /** An empty folder. */
  readonly folder: string;
}

/** Resolves to the digest of the image. */
export async function writeLayout({ image, labels, createdS, folder }: LayoutInput): Promise<string> {
  mkdirSync(path.join(folder, 'blobs', 'sha256'), { recursive: true });
  const archive = path.join(folder, 'layer.tar');
  const same = ['--sort=name', `--mtime=@${createdS}`, '--owner=0', '--group=0', '--numeric-owner'];
  await succeed('tar', [...same, '-cf', archive, '-C', image.folder, ...LAYER]);
  const layer = readFileSync(archive);
  await succeed('rm', [archive]);
  const { env, workdir, user, entrypoint } = image;
  const config = {
    architecture: 'amd64',
    os: 'linux',
    config: {
      User: `${user.uid}:${user.gid}`,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      WorkingDir: workdir,
      Entrypoint: entrypoint,
      Labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [`org.opencontainers.image.${name}`, value])),
    },
    rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: put(folder, 'application/vnd.oci.image.config.v1+json', JSON.stringify(config)),
    layers: [put(folder, 'application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(layer))],
  };
  const root = put(folder, manifest.mediaType, JSON.stringify(manifest));
  writeFileSync(path.join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(path.join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [root] }));
  return root.digest;
}

/** Unpacks the layer of the image in a layout into a root. */
export async function unpackLayout(layout: string, root: string): Promise<void> {
  const read = (place: string) => JSON.parse(readFileSync(path.join(layout, place), 'utf8')) as object;
  const { manifests } = read('index.json') as { manifests: readonly Descriptor[] };
  const { layers } = read(blobOf(manifests[0]!.digest)) as { layers: readonly Descriptor[] };
  for (const { digest } of layers) await succeed('tar', ['-xzf', path.join(layout, blobOf(digest)), '-C', root]);
}

function put(folder: string, mediaType: string, content: string | Buffer): Descriptor {
  const digest = digestOf(content);
  writeFileSync(path.join(folder, blobOf(digest)), content);
  return { mediaType, digest, size: Buffer.byteLength(content) };
}

function digestOf(content: string | Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function blobOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

async function succeed(command: string, args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await runCommand(command, args, { timeoutMs: 120_000 });
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stderr}`);
}
