/** The registry of packages: what it has, and what npm publishes there. */
import { parseJson } from '../../process/parse-json.mjs';
import { attempt, outputOf } from './command.mjs';

export class NpmRegistry {
  /** @param {string} url */
  constructor(url) {
    this.registry = `--registry=${url}`;
  }

  /**
   * The integrity of a published version, or undefined.
   *
   * @param {string} name
   * @param {string} version
   */
  integrityOf(name, version) {
    return this.view(`${name}@${version}`, 'dist.integrity');
  }

  /** @param {string} name */
  latestOf(name) {
    return this.view(name, 'dist-tags.latest');
  }

  /**
   * What npm would refuse, before anything is published.
   *
   * @param {string} file
   */
  async tryPublish(file) {
    await outputOf('npm', ['publish', file, '--dry-run', '--ignore-scripts', '--access=public', '--tag=next', this.registry]);
  }

  /**
   * The workflow's identity publishes (trusted publishing) with provenance, or a token in npm's own configuration without.
   *
   * @param {string} file
   * @param {string} tag
   */
  async publish(file, tag) {
    const provenance = process.env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined ? [] : ['--provenance'];
    await outputOf('npm', ['publish', file, '--ignore-scripts', '--access=public', `--tag=${tag}`, ...provenance, this.registry]);
  }

  /**
   * @param {string} what
   * @param {string} field
   * @returns {Promise<string | undefined>}
   */
  async view(what, field) {
    const { code, output, stdout } = await attempt('npm', [
      'view',
      what,
      field,
      '--json',
      '--prefer-online',
      '--loglevel=silent',
      this.registry,
    ]);
    if (code === 0) return stdout.trim() === '' ? undefined : /** @type {string} */ (parseJson(stdout));
    if (output.includes('E404')) return undefined;
    throw new Error(`the registry does not say what ${what} is:\n${output.trim()}`);
  }
}
