/** The step `pack`: makes all artifacts of a release from the sources and from a built image, and the record of them. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { buildDist } from '../../build/build-dist.mjs';
import { buildPackages } from '../../build/build-packages.mjs';
import { LIBRARY_PACKAGES } from '../../build/library-packages.mjs';
import { parseJson } from '../../process/parse-json.mjs';
import { ROOT } from '../../process/repository.mjs';
import { readHome } from '../home/home.mjs';
import { outputOf } from './command.mjs';
import { PREDICATE, provenanceOf } from './provenance.mjs';
import { imageDigestOf, integrityOf, sha256Of, writeJson, writeRelease } from './record.mjs';
import { imageSbom, packageSbom } from './sbom.mjs';
import { isEarly } from './versions.mjs';

/** @typedef {import('./record.mjs').Release} Release */
/** @typedef {{ readonly folder: string, readonly helm: string }} PackInput */

/**
 * The image must be in the folder already, as the OCI layout `image`.
 *
 * @param {PackInput} input
 */
export async function pack({ folder, helm }) {
  const layout = join(folder, 'image');
  if (!existsSync(join(layout, 'index.json')))
    throw new Error(`${layout} has no image; build one there: docker buildx build --output type=oci,tar=false,dest=${layout}`);
  const { version } = /** @type {{ version: string }} */ (parseJson(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const source = await sourceOf();
  const home = readHome();
  for (const name of ['npm', 'chart', 'sbom']) mkdirSync(join(folder, name), { recursive: true });
  const image = { name: home.image, layout: 'image', digest: imageDigestOf(layout), sbom: 'sbom/image.cdx.json' };
  const packages = await packPackages(folder, source.createdS);
  writeJson(join(folder, image.sbom), await imageSbom({ root: ROOT, ...source, name: home.image, version }));
  const chart = await packChart({ folder, helm, version, createdS: source.createdS, home, image });
  const provenance = 'provenance.json';
  /** @type {Release} */
  const release = { version, ...source, image, chart, packages, provenance };
  const statement = provenanceOf(release, { repository: home.repository, folder });
  writeJson(join(folder, provenance), statement);
  // cosign makes the statement about an image itself.
  writeJson(join(folder, PREDICATE), statement.predicate);
  writeRelease(folder, release);
  return release;
}

/** The commit that is built, and its time, which is that of every file in an archive. */
async function sourceOf() {
  const { GITHUB_SHA: given, SOURCE_DATE_EPOCH: time } = process.env;
  const commit = given ?? (await outputOf('git', ['rev-parse', 'HEAD'])).trim();
  const createdS = Number(time ?? (await outputOf('git', ['log', '-1', '--format=%ct'])).trim());
  return { commit, createdS };
}

/**
 * @param {string} folder
 * @param {number} createdS
 */
async function packPackages(folder, createdS) {
  const built = join(ROOT, 'dist', 'packages');
  const failure = (await buildDist({ checksTypes: false })) ?? (await buildPackages({ output: built }));
  if (failure !== undefined) throw new Error(failure);
  const packed = [];
  for (const place of [ROOT, ...Object.keys(LIBRARY_PACKAGES).map((name) => join(built, name))]) {
    // npm gives each file of a tarball the same time.
    const printed = await outputOf('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', join(folder, 'npm')], {
      cwd: place,
    });
    const file = `npm/${printed.trim().split('\n').at(-1) ?? ''}`;
    const { name } = /** @type {{ name: string }} */ (parseJson(readFileSync(join(place, 'package.json'), 'utf8')));
    const sbom = `sbom/${basename(file, '.tgz')}.cdx.json`;
    writeJson(join(folder, sbom), await packageSbom({ place, createdS }));
    packed.push({ name, file, integrity: integrityOf(join(folder, file)), sbom });
  }
  return packed;
}

/**
 * The chart names the image by its digest. Helm writes the time of the packing into each entry, so the archive is made again without.
 *
 * @param {{ folder: string, helm: string, version: string, createdS: number, home: import('../home/home.mjs').Home, image: Release['image'] }} input
 */
async function packChart({ folder, helm, version, createdS, home, image }) {
  const work = mkdtempSync(join(tmpdir(), 'weir-chart-'));
  try {
    const chart = join(work, 'weir');
    cpSync(join(ROOT, 'deploy', 'helm', 'weir'), chart, { recursive: true });
    nameImage(chart, image, version);
    linkReadme(chart, `${home.repository}/blob/v${version}`);
    await outputOf(helm, ['package', chart, '--destination', work]);
    const file = `chart/weir-${version}.tgz`;
    const archive = join(work, 'weir.tar');
    await outputOf('tar', ['-xzf', join(work, `weir-${version}.tgz`), '-C', mkdir(join(work, 'packed'))]);
    const same = ['--sort=name', `--mtime=@${createdS}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
    await outputOf('tar', [...same, '-cf', archive, '-C', join(work, 'packed'), 'weir']);
    await outputOf('gzip', ['-n9', archive]);
    renameOver(`${archive}.gz`, join(folder, file));
    // `helm push` writes the time of the file into the manifest.
    utimesSync(join(folder, file), createdS, createdS);
    return { folder: home.charts, file, digest: sha256Of(join(folder, file)) };
  } finally {
    rmSync(work, { recursive: true });
  }
}

/**
 * In the values, which start it, and for the listing.
 *
 * @param {string} chart
 * @param {Release['image']} image
 * @param {string} version
 */
function nameImage(chart, { name, digest }, version) {
  const [values, about] = [join(chart, 'values.yaml'), join(chart, 'Chart.yaml')];
  const started = readFileSync(values, 'utf8')
    .replace(/^ {2}repository: weir$/m, `  repository: ${name}`)
    .replace(/^ {2}digest: ""$/m, `  digest: "${digest}"`);
  writeFileSync(values, started);
  const images = `  artifacthub.io/images: |\n    - name: weir\n      image: ${name}@${digest}\n`;
  const listed = `annotations:\n  artifacthub.io/prerelease: "${isEarly(version)}"\n${images}`;
  writeFileSync(about, readFileSync(about, 'utf8').replace(/^annotations:\n/m, listed));
}

/**
 * The archive holds the chart alone, so a link to another file of the repository needs the address of that file.
 *
 * @param {string} chart
 * @param {string} files The address of the root of the repository, at this version.
 */
function linkReadme(chart, files) {
  const readme = join(chart, 'README.md');
  writeFileSync(readme, readFileSync(readme, 'utf8').replaceAll('](../../../', `](${files}/`));
}

/** @param {string} folder */
function mkdir(folder) {
  mkdirSync(folder);
  return folder;
}

/**
 * The two may be on different disks.
 *
 * @param {string} from
 * @param {string} to
 */
function renameOver(from, to) {
  cpSync(from, `${to}.new`);
  renameSync(`${to}.new`, to);
}
