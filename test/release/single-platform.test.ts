/** The scan of a release gets each platform of the image as a layout that names that image alone. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../support/processes/command';

const SCRIPT = path.resolve(__dirname, '..', '..', 'scripts', 'release', 'single-platform.mjs');
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-platforms-'));
  mkdirSync(path.join(folder, 'image', 'blobs', 'sha256'), { recursive: true });
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function put(mediaType: string, value: object) {
  const text = JSON.stringify(value);
  const hash = createHash('sha256').update(text).digest('hex');
  writeFileSync(path.join(folder, 'image', 'blobs', 'sha256', hash), text);
  return { mediaType, digest: `sha256:${hash}`, size: text.length };
}

/** As buildx writes it: an index of the image, in which each platform has a manifest and a statement about it. */
function writeNested(architectures: readonly string[]): void {
  const images = architectures.map((architecture) => {
    const config = put('application/vnd.oci.image.config.v1+json', { architecture, os: 'linux' });
    return { ...put(MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [] }), platform: { architecture, os: 'linux' } };
  });
  const statements = images.map(({ digest }) => ({
    ...put(MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, subject: digest }),
    annotations: { 'vnd.docker.reference.digest': digest },
    platform: { architecture: 'unknown', os: 'unknown' },
  }));
  const nested = put(INDEX, { schemaVersion: 2, mediaType: INDEX, manifests: [...images, ...statements] });
  writeFileSync(path.join(folder, 'image', 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(path.join(folder, 'image', 'index.json'), JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [nested] }));
}

function split() {
  return runCommand(process.execPath, [SCRIPT, 'image', 'scan'], { cwd: folder });
}

test('each platform is a layout with one manifest, whose parts are there; the image stays as it was', async () => {
  writeNested(['amd64', 'arm64']);
  const before = readFileSync(path.join(folder, 'image', 'index.json'), 'utf8');
  expect(await split()).toMatchObject({ exitCode: 0, stderr: '' });
  for (const architecture of ['amd64', 'arm64']) {
    const layout = path.join(folder, 'scan', architecture);
    const read = (...place: string[]): unknown => JSON.parse(readFileSync(path.join(layout, ...place), 'utf8'));
    const blob = (digest: string) => read('blobs', ...digest.split(':'));
    const { manifests } = read('index.json') as { manifests: readonly { digest: string; mediaType: string }[] };
    expect(manifests.map(({ mediaType }) => mediaType)).toEqual([MANIFEST]);
    const { config } = blob(manifests[0]!.digest) as { config: { digest: string } };
    expect(blob(config.digest)).toEqual({ architecture, os: 'linux' });
    expect(existsSync(path.join(layout, 'oci-layout'))).toBe(true);
  }
  expect(readFileSync(path.join(folder, 'image', 'index.json'), 'utf8')).toBe(before);
});

test('an image without one of the platforms is refused', async () => {
  writeNested(['amd64']);
  expect(await split()).toMatchObject({ exitCode: 1, stderr: 'image has 0 images for linux/arm64; build one\n' });
});
