/** The step `check`: everything that could stop a release, before anything of it is public. It changes nothing, here or in a registry. */
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { readHome } from '../home/home.mjs';
import { outputOf } from './command.mjs';
import { contentFaults } from './package-contents.mjs';
import { imageDigestOf, integrityOf, readLayout, sha256Of } from './record.mjs';

/** @typedef {import('./record.mjs').Release} Release */
/** @typedef {{ readonly oci: import('./oci-registry.mjs').OciRegistry, readonly npm: import('./npm-registry.mjs').NpmRegistry }} Registries */
/** @typedef {{ readonly folder: string, readonly release: Release, readonly registries: Registries }} PublishInput */
/** @typedef {PublishInput & { readonly sourceFaults: readonly string[] }} CheckInput `sourceFaults` are those of the sources at its tag. */
/** @typedef {{ readonly mediaType?: string, readonly digest: string, readonly platform?: { readonly architecture: string } }} Descriptor */

/**
 * What is wrong, as sentences.
 *
 * @param {CheckInput} input
 * @returns {Promise<readonly string[]>}
 */
export async function checkRelease(input) {
  const { release, folder } = input;
  const home = readHome();
  const changed = changedFaults(folder, release);
  if (changed.length > 0) return changed;
  const local = [
    ...input.sourceFaults,
    ...imageFaults(folder, release, home.repository),
    ...(await chartFaults(input)),
    ...(await packageFaults(folder, release, home.repository)),
  ];
  // The registries are asked about a release that is whole.
  return local.length > 0 ? local : registryFaults(input);
}

/**
 * @param {string} folder
 * @param {Release} release
 */
function changedFaults(folder, { image, chart, packages }) {
  const found = [
    { name: image.layout, isSame: imageDigestOf(join(folder, image.layout)) === image.digest },
    { name: chart.file, isSame: sha256Of(join(folder, chart.file)) === chart.digest },
    ...packages.map(({ file, integrity }) => ({ name: file, isSame: integrityOf(join(folder, file)) === integrity })),
  ];
  return found.filter(({ isSame }) => !isSame).map(({ name }) => `${name} has changed since it was packed; run the step pack again.`);
}

/**
 * The labels of the image for each processor.
 *
 * @param {string} folder
 * @param {Release} release
 * @param {string} repository
 */
function imageFaults(folder, { image, version, commit }, repository) {
  const layout = join(folder, image.layout);
  return manifestsOf(layout, image.digest).flatMap((digest) => {
    const { config } = /** @type {{ config: { digest: string } }} */ (readLayout(layout, digest));
    const { config: settings } = /** @type {{ config?: { Labels?: Record<string, string> } }} */ (readLayout(layout, config.digest));
    const label = (/** @type {string} */ name) => settings?.Labels?.[`org.opencontainers.image.${name}`] ?? 'missing';
    const wanted = Object.entries({ version, revision: commit, source: repository });
    const differing = wanted.filter(([name, value]) => label(name) !== value);
    return [
      ...differing.map(([name, value]) => `The label ${name} of the image ${digest} is ${label(name)}; build it with ${value}.`),
      ...(/@sha256:[\da-f]{64}$/.test(label('base.name'))
        ? []
        : [`The image ${digest} was built on ${label('base.name')}; name its base by a digest (NODE_IMAGE).`]),
    ];
  });
}

/**
 * An image for several processors has a manifest for each, and some with what the builder attests.
 *
 * @param {string} layout
 * @param {string} digest
 * @returns {readonly string[]}
 */
function manifestsOf(layout, digest) {
  const { manifests } = /** @type {{ manifests?: readonly Descriptor[] }} */ (readLayout(layout, digest));
  if (manifests === undefined) return [digest];
  return manifests.filter(({ platform }) => platform?.architecture !== 'unknown').map((each) => each.digest);
}

/** @param {PublishInput} input */
async function chartFaults({ folder, release: { image, chart }, registries }) {
  const { helm } = registries.oci.tools;
  const file = join(folder, chart.file);
  const example = ['--set', 'config.example=true', '--set', 'redis.demo.enabled=true', '--kube-version', '1.33.0'];
  const rendered = await outputOf(helm, ['template', 'weir', file, ...example]);
  const named = `image: "${image.name}@${image.digest}"`;
  return rendered.includes(named) ? [] : [`${chart.file} does not start ${named}.`];
}

/**
 * @param {string} folder
 * @param {Release} release
 * @param {string} repository
 */
async function packageFaults(folder, { packages, version }, repository) {
  const faults = packages.map(async ({ name, file }) => {
    const archive = join(folder, file);
    const files = (await outputOf('tar', ['-tzf', archive]))
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''));
    const manifest =
      /** @type {import('./package-contents.mjs').Entries & { name: string, version: string, repository?: { url?: string } }} */ (
        parseJson(await outputOf('tar', ['-xzOf', archive, 'package/package.json']))
      );
    const wanted = { name, version, repository: `git+${repository}.git` };
    const found = { name: manifest.name, version: manifest.version, repository: manifest.repository?.url };
    const isSame = JSON.stringify(found) === JSON.stringify(wanted);
    return [
      ...contentFaults(name, files, manifest),
      ...(isSame ? [] : [`${file} is ${JSON.stringify(found)}, but should be ${JSON.stringify(wanted)}.`]),
    ];
  });
  return (await Promise.all(faults)).flat();
}

/**
 * What a registry has already is from an earlier run of this release, or another release with its version.
 *
 * @param {PublishInput} input
 */
async function registryFaults({ folder, release: { version, image, chart, packages }, registries: { oci, npm } }) {
  /** @param {string} what @param {string | undefined} found @param {string} own */
  const compare = (what, found, own) =>
    found === undefined || found === own
      ? []
      : [`${what} is published already, with other content (${found}); a version cannot be published twice.`];
  const imageName = `${image.name}:${version}`;
  const chartName = `${chart.folder}/weir:${version}`;
  const faults = [
    ...compare(imageName, await oci.digestOf(imageName), image.digest),
    ...compare(chartName, await oci.chartOf(chartName), chart.digest),
  ];
  for (const { name, file, integrity } of packages) {
    const found = await npm.integrityOf(name, version);
    faults.push(...compare(`${name}@${version}`, found, integrity));
    if (found === undefined) await npm.tryPublish(join(folder, file));
  }
  return faults;
}
