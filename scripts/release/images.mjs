/** The images of others that files of this repository start, and the digests that a release needs: a tag may name another image tomorrow. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../process/repository.mjs';

/**
 * The files, and how each names an image.
 *
 * @type {Readonly<Record<string, RegExp>>}
 */
const PLACES = {
  'deploy/Dockerfile': /(?<=^ARG NODE_IMAGE=)(\S+)$/gm,
  'deploy/compose.yaml': /(?<=image: \$\{\w+:-)([^}]+)(?=\})/g,
  'deploy/ci/gitlab-ci.yaml': /(?<=^ *image: )(\S+)$/gm,
  'deploy/helm/weir/values.yaml': /(?<=^ {4}image: )(\S+)$/gm,
};

const DIGEST = /@sha256:[\da-f]{64}$/;

/**
 * @param {string} [root]
 * @returns {readonly { readonly file: string, readonly image: string }[]}
 */
export function namedImages(root = ROOT) {
  return Object.entries(PLACES).flatMap(([file, form]) =>
    Array.from(readFileSync(join(root, file), 'utf8').matchAll(form), ([image]) => ({ file, image })),
  );
}

/**
 * Images without a digest, as sentences.
 *
 * @param {string} [root]
 */
export function unpinnedFaults(root = ROOT) {
  const unpinned = namedImages(root).filter(({ image }) => !DIGEST.test(image));
  return unpinned.map(({ file, image }) => `${file} names ${image} without its digest; run node scripts/release/pin-images.mjs.`);
}

/** @param {string} image */
export function withoutDigest(image) {
  return image.replace(DIGEST, '');
}

/**
 * Writes the digest that each tag has now.
 *
 * @param {{ resolve: (image: string) => Promise<string>, root?: string }} options `resolve` gets an image with its tag.
 */
export async function pinImages({ resolve, root = ROOT }) {
  /** @type {Map<string, string>} */
  const pinned = new Map();
  for (const { image } of namedImages(root)) {
    const tagged = withoutDigest(image);
    if (!pinned.has(tagged)) pinned.set(tagged, `${tagged}@${await resolve(tagged)}`);
  }
  for (const [file, form] of Object.entries(PLACES)) {
    const text = readFileSync(join(root, file), 'utf8');
    writeFileSync(
      join(root, file),
      text.replace(form, (image) => pinned.get(withoutDigest(image)) ?? image),
    );
  }
  return pinned;
}

/**
 * The full name of an image, as a registry knows it.
 *
 * @param {string} image
 * @param {string} registry What the short names of Docker belong to.
 */
export function fullName(image, registry) {
  const [first = ''] = image.split('/');
  if (image.includes('/') && /[.:]|^localhost$/.test(first)) return image;
  return image.includes('/') ? `${registry}/${image}` : `${registry}/library/${image}`;
}
