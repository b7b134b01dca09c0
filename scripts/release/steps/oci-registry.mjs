/** The registry of images and charts: what it has, and what is pushed, signed and tagged there. oras, Helm and cosign do all of it. */
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { attempt, outputOf } from './command.mjs';

/** @typedef {{ readonly oras: string, readonly helm: string, readonly cosign: string }} Tools */

/**
 * How artifacts are signed: with a key, as in a try, or by the workflow's identity, whose signature names `repository`.
 *
 * @typedef {{ readonly key: string } | { readonly repository: string }} Signer
 */

const ISSUER = 'https://token.actions.githubusercontent.com';
const LISTING = 'application/vnd.cncf.artifacthub';

export class OciRegistry {
  /** @param {{ tools: Tools, signer: Signer, isPlainHttp: boolean }} options */
  constructor({ tools, signer, isPlainHttp }) {
    this.tools = tools;
    this.signer = signer;
    this.isPlainHttp = isPlainHttp;
  }

  /**
   * The digest of what has this tag, or undefined.
   *
   * @param {string} reference
   */
  async digestOf(reference) {
    const { code, stdout, output } = await attempt(this.tools.oras, ['resolve', ...this.plain('plain-http'), reference]);
    if (code === 0) return stdout.trim();
    // A registry answers so for a name that nobody pushed yet, too.
    if (/not found|name unknown/i.test(output)) return undefined;
    throw new Error(`the registry does not say what ${reference} is:\n${output.trim()}`);
  }

  /**
   * The digest of the archive of a chart, or undefined.
   *
   * @param {string} reference
   */
  async chartOf(reference) {
    if ((await this.digestOf(reference)) === undefined) return undefined;
    const manifest = await outputOf(this.tools.oras, ['manifest', 'fetch', ...this.plain('plain-http'), reference]);
    const { layers } = /** @type {{ layers: readonly { digest: string }[] }} */ (parseJson(manifest));
    return layers[0]?.digest;
  }

  /**
   * @param {string} name
   * @returns {Promise<readonly string[]>}
   */
  async tagsOf(name) {
    const { code, stdout, output } = await attempt(this.tools.oras, ['repo', 'tags', ...this.plain('plain-http'), name]);
    if (code === 0) return stdout.trim().split('\n');
    if (/not found|name unknown/i.test(output)) return [];
    throw new Error(`the registry does not list the tags of ${name}:\n${output.trim()}`);
  }

  /**
   * Without a tag: nobody finds it by its version before it is signed.
   *
   * @param {{ layout: string, name: string, digest: string }} image
   */
  async pushImage({ layout, name, digest }) {
    await outputOf(this.tools.oras, [
      'cp',
      '--no-tty',
      '--from-oci-layout',
      `${layout}@${digest}`,
      ...this.plain('to-plain-http'),
      `${name}@${digest}`,
    ]);
  }

  /**
   * @param {string} reference With its digest.
   * @param {readonly string[]} tags
   */
  async tag(reference, tags) {
    await outputOf(this.tools.oras, ['tag', ...this.plain('plain-http'), reference, ...tags]);
  }

  /**
   * @param {{ file: string, folder: string }} chart
   */
  async pushChart({ file, folder }) {
    await outputOf(this.tools.helm, ['push', file, `oci://${folder}`, ...this.plain('plain-http')]);
  }

  /**
   * What Artifact Hub reads beside a chart: who owns its listing.
   *
   * @param {{ name: string, file: string, folder: string, createdS: number }} listing
   */
  async pushListing({ name, file, folder, createdS }) {
    const created = `org.opencontainers.image.created=${new Date(createdS * 1000).toISOString()}`;
    const config = `${join(folder, 'empty')}:${LISTING}.config.v1+yaml`;
    const args = [
      'push',
      '--no-tty',
      '--disable-path-validation',
      '--annotation',
      created,
      ...this.plain('plain-http'),
      `${name}:artifacthub.io`,
    ];
    await outputOf(this.tools.oras, [...args, '--config', config, `${file}:${LISTING}.repository-metadata.layer.v1.yaml`]);
  }

  /**
   * Signs, and attests what it contains and how it was made, unless that was done.
   *
   * @param {string} reference With its digest.
   * @param {Readonly<Record<string, string>>} predicates Files by their type.
   */
  async sign(reference, predicates) {
    const { cosign } = this.tools;
    const http = this.plain('allow-http-registry');
    if (!(await this.isSigned(reference))) await outputOf(cosign, ['sign', ...this.signing(), ...http, reference]);
    for (const [type, file] of Object.entries(predicates)) {
      const isThere = await attempt(cosign, ['verify-attestation', ...this.verifying(), ...http, '--type', type, reference]);
      if (isThere.code !== 0)
        await outputOf(cosign, ['attest', ...this.signing(), ...http, '--type', type, '--predicate', file, reference]);
    }
  }

  /** @param {string} reference */
  async isSigned(reference) {
    return (await attempt(this.tools.cosign, ['verify', ...this.verifying(), ...this.plain('allow-http-registry'), reference])).code === 0;
  }

  /** A key signs without a log of transparency, which is not there in a try. */
  signing() {
    return 'key' in this.signer ? ['--yes', '--key', this.signer.key, '--use-signing-config=false', '--tlog-upload=false'] : ['--yes'];
  }

  verifying() {
    const { signer } = this;
    if ('key' in signer) return ['--key', signer.key.replace(/\.key$/, '.pub'), '--insecure-ignore-tlog'];
    const workflow = `^${signer.repository.replaceAll('.', String.raw`\.`)}/\\.github/workflows/release\\.yml@refs/tags/v`;
    return ['--certificate-oidc-issuer', ISSUER, '--certificate-identity-regexp', workflow];
  }

  /** @param {string} option */
  plain(option) {
    return this.isPlainHttp ? [`--${option}`] : [];
  }
}
