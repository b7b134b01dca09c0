/** Makes a release, step by step; `.github/workflows/release.yml` runs the same steps as the test of a release. Each step can run again. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installCosign } from '../install/go/cosign.mjs';
import { installHelm } from '../install/go/helm.mjs';
import { installOras } from '../install/go/oras.mjs';
import { exitWith } from '../process/repository.mjs';
import { releaseFaults } from './check-version.mjs';
import { readHome } from './home/home.mjs';
import { checkRelease } from './steps/check.mjs';
import { NpmRegistry } from './steps/npm-registry.mjs';
import { OciRegistry } from './steps/oci-registry.mjs';
import { publishRelease } from './steps/publish.mjs';
import { readRelease } from './steps/record.mjs';

const USAGE = `Usage: node scripts/release/release.mjs STEP --folder FOLDER [--key FILE] [--plain-http]
  pack       makes packages, chart, SBOMs and provenance in FOLDER, where FOLDER/image is the image as an OCI layout
  check      says what could stop the release, and publishes nothing
  publish    checks, then publishes what is not there yet, and signs it
  --key FILE    a key of cosign in place of the identity of the workflow, for a try; its password is in COSIGN_PASSWORD
  --plain-http  the registry of image and chart has no TLS, for a try`;

const STEPS = { pack: runPack, check: runCheck, publish: runPublish };

const { step, folder, key, isPlainHttp } = readOptions();
try {
  await STEPS[step]();
} catch (error) {
  exitWith(error instanceof Error ? error.message : String(error));
}

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      options: { folder: { type: 'string' }, key: { type: 'string' }, 'plain-http': { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const [step = '', ...others] = positionals;
    if (!isStep(step) || others.length > 0) throw new Error('name one step: pack, check or publish');
    if (values.folder === undefined) throw new Error('--folder is missing');
    return { step, folder: resolve(values.folder), key: values.key, isPlainHttp: values['plain-http'] };
  } catch (error) {
    return exitWith(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

/**
 * @param {string} name
 * @returns {name is keyof typeof STEPS}
 */
function isStep(name) {
  return Object.hasOwn(STEPS, name);
}

async function runPack() {
  mkdirSync(folder, { recursive: true });
  // It builds, with packages of npm that the other steps do without.
  const { pack } = await import('./steps/pack.mjs');
  // The configuration of an artifact that has none.
  writeFileSync(join(folder, 'empty'), '{}');
  const { version, image, chart, packages } = await pack({ folder, helm: pathOf(await installHelm()) });
  console.log(
    [
      `Version ${version}`,
      `image  ${image.name}@${image.digest}`,
      `chart  ${chart.file}`,
      ...packages.map(({ file }) => `npm    ${file}`),
    ].join('\n'),
  );
}

async function runCheck() {
  await checked();
  console.log('Nothing stops the release.');
}

async function runPublish() {
  await publishRelease(await checked());
}

/** The release, if nothing stops it. */
async function checked() {
  const release = readRelease(folder);
  const input = { folder, release, registries: await openRegistries() };
  const sourceFaults = releaseFaults({ tag: `v${release.version}`, repository: readHome().repository });
  const faults = await checkRelease({ ...input, sourceFaults });
  if (faults.length > 0) exitWith(faults.join('\n'));
  return input;
}

async function openRegistries() {
  const { npmRegistry, repository } = readHome();
  const tools = { oras: pathOf(await installOras()), helm: pathOf(await installHelm()), cosign: pathOf(await installCosign()) };
  const signer = key === undefined ? { repository } : { key: resolve(key) };
  return { oci: new OciRegistry({ tools, signer, isPlainHttp }), npm: new NpmRegistry(npmRegistry) };
}

/** @param {import('../install/fetch/tool.mjs').Tool} tool */
function pathOf({ path, missing }) {
  if (path === undefined) exitWith(missing);
  return path;
}
