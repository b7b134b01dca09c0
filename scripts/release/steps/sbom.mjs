/** The lists of what each artifact contains (SBOM), by npm in the form of CycloneDX. The same sources give the same list. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { outputOf } from './command.mjs';

/** @typedef {{ readonly metadata: { readonly component: object }, readonly serialNumber?: string }} Sbom */

/**
 * A package of this repository. One without a lock file gets the newest packages that its ranges allow, as its users do.
 *
 * @param {{ place: string, createdS: number }} input
 */
export async function packageSbom({ place, createdS }) {
  const work = mkdtempSync(join(tmpdir(), 'weir-sbom-'));
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      if (existsSync(join(place, name))) cpSync(join(place, name), join(work, name));
    if (!existsSync(join(work, 'package-lock.json')))
      await outputOf('npm', ['install', '--package-lock-only', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
        cwd: work,
      });
    const { name } = /** @type {{ name: string }} */ (parseJson(readFileSync(join(work, 'package.json'), 'utf8')));
    return withoutChance(await sbomOf(work), { name, createdS });
  } finally {
    rmSync(work, { recursive: true });
  }
}

/**
 * The packages of npm in the image. What its base image has, the builder of the image lists beside it.
 *
 * @param {{ root: string, createdS: number, name: string, version: string }} input
 */
export async function imageSbom({ root, createdS, name, version }) {
  const sbom = await packageSbom({ place: root, createdS });
  return { ...sbom, metadata: { ...sbom.metadata, component: { ...sbom.metadata.component, type: 'container', name, version } } };
}

/** @param {string} folder */
async function sbomOf(folder) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev', '--package-lock-only'];
  return /** @type {Sbom} */ (parseJson(await outputOf('npm', args, { cwd: folder, env: { npm_config_loglevel: 'silent' } })));
}

/**
 * Without the number and the time of this run, and without the folder, whose name npm gives to a package with a scope.
 *
 * @param {Sbom} sbom
 * @param {{ name: string, createdS: number }} of
 */
function withoutChance({ serialNumber: _, ...sbom }, { name, createdS }) {
  const component = { ...sbom.metadata.component, name };
  return { ...sbom, metadata: { ...sbom.metadata, timestamp: new Date(createdS * 1000).toISOString(), component } };
}
