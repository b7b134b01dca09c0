/**
 * The step `publish`: image, chart, packages, and at last the tags that move. Each part is left out if it is there already, so a run that was
 * stopped anywhere is finished by another. Packages come late, because npm takes none back.
 */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { PREDICATE } from './provenance.mjs';
import { movingTags, npmTag } from './versions.mjs';

/** @typedef {import('./check.mjs').PublishInput} PublishInput */

/** @param {PublishInput} input The release must be checked. */
export async function publishRelease(input) {
  await publishImage(input);
  await publishChart(input);
  await publishPackages(input);
  await moveTags(input);
}

/** @param {PublishInput} input */
async function publishImage({ folder, release: { version, image }, registries: { oci } }) {
  const [tagged, reference] = [`${image.name}:${version}`, `${image.name}@${image.digest}`];
  const isThere = (await oci.digestOf(tagged)) === image.digest;
  // The manifest is pushed last, so where it is, all of the image is.
  if ((await oci.digestOf(reference)) === undefined) await oci.pushImage({ ...image, layout: join(folder, image.layout) });
  await oci.sign(reference, { cyclonedx: join(folder, image.sbom), slsaprovenance1: join(folder, PREDICATE) });
  if (!isThere) await oci.tag(reference, [version]);
  report(`${tagged} (${image.digest})`, isThere);
}

/** @param {PublishInput} input */
async function publishChart({ folder, release: { version, chart }, registries: { oci } }) {
  const name = `${chart.folder}/weir`;
  const tagged = `${name}:${version}`;
  const isThere = (await oci.chartOf(tagged)) === chart.digest;
  if (!isThere) await oci.pushChart({ file: join(folder, chart.file), folder: chart.folder });
  const digest = await oci.digestOf(tagged);
  await oci.sign(`${name}@${digest ?? ''}`, {});
  report(`${tagged} (${digest ?? ''})`, isThere);
}

/** @param {PublishInput} input */
async function publishPackages({ folder, release: { version, packages }, registries: { npm } }) {
  for (const { name, file, integrity } of packages) {
    const isThere = (await npm.integrityOf(name, version)) === integrity;
    if (!isThere) await npm.publish(join(folder, file), npmTag(version, await npm.latestOf(name)));
    report(`${name}@${version}`, isThere);
  }
}

/**
 * Only when all of the release is there does `0.1` name it.
 *
 * @param {PublishInput} input
 */
async function moveTags({ folder, release: { version, createdS, image, chart }, registries: { oci } }) {
  for (const tag of movingTags(version, await oci.tagsOf(image.name))) {
    if ((await oci.digestOf(`${image.name}:${tag}`)) === image.digest) continue;
    await oci.tag(`${image.name}@${image.digest}`, [tag]);
    report(`${image.name}:${tag}`, false);
  }
  const file = join(ROOT, 'deploy', 'helm', 'artifacthub-repo.yml');
  await oci.pushListing({ name: `${chart.folder}/weir`, file, folder, createdS });
}

/**
 * @param {string} what
 * @param {boolean} isThere
 */
function report(what, isThere) {
  console.log(isThere ? `${what} is there already` : `${what} is published`);
}
