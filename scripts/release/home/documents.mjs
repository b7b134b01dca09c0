/** What the documents say of the home: how to get Weir, how to verify a release, where to report. Without an owner each command works in a checkout. */
import { inBlock } from './block.mjs';

/** @typedef {import('./places.mjs').Rewrite} Rewrite */

const SHELL = '```sh';
const CONSOLE = '```console';
const END = '```';

/** @type {Readonly<Record<string, Rewrite>>} */
export const DOCUMENTS = {
  'README.md': (text, { repository }) =>
    inBlock(
      text,
      [
        ...(repository === ''
          ? ['With Node 20 or newer and no Redis, in a checkout:', '', CONSOLE, 'npm start', END]
          : ['With Node 20 or newer and no Redis:', '', CONSOLE, `git clone ${repository} weir && cd weir && npm start`, END]),
      ],
      '<!--',
    ),
  'docs/index.md': (text, { image }) =>
    inBlock(
      text,
      image === '' ? ['In a checkout:', '', CONSOLE, 'npm start', END] : [CONSOLE, `docker run -p 8080:8080 -p 8081:8081 ${image}`, END],
      '<!--',
    ),
  '.github/SECURITY.md': (text, { security }) =>
    inBlock(text, [`Report it in private, never as an issue: ${reportOf(security)}. ${REPORT}`], '<!--'),
  'docs/libraries.md': (text, home) => inBlock(text, home.npmRegistry === '' ? packed(home) : installed(home), '<!--'),
  'docs/kubernetes.md': (text, { charts, image }) =>
    inBlock(
      text,
      charts === '' || image === ''
        ? ['Build the image first ([deploy/README.md](../deploy/README.md)), and put it where your nodes pull from.']
        : [
            `Releases are at \`oci://${charts}/weir\` (\`helm install weir oci://${charts}/weir --version X.Y.Z\`), with the image \`${image}\`. The commands below use a checkout, for which you build the image first ([deploy/README.md](../deploy/README.md)).`,
          ],
      '<!--',
    ),
  'deploy/README.md': (text, home) => inBlock(text, verified(home), '<!--'),
};

const REPORT =
  'Include the version (`weir version`), the output of `weir settings --changed` (it hides secrets), and the smallest request that shows the problem. Fixes are made for the newest release.';

/** @param {string} security */
function reportOf(security) {
  if (security === '') return 'on the repository page, under **Security**, choose **Report a vulnerability**';
  return security.startsWith('https:') ? `at <${security}>` : `write to <${security}>`;
}

/** @param {{ readonly npmScope: string, readonly version: string }} home */
function packed({ npmScope, version }) {
  return [
    'No registry has the packages yet. A checkout of Weir makes them:',
    '',
    SHELL,
    'npm run packages',
    `npm install --prefix ../shop ./dist/packages/${npmScope.slice(1)}-client-${version}.tgz`,
    END,
  ];
}

/** @param {import('./home.mjs').Home} home */
function installed({ npmScope }) {
  return [SHELL, `npm install ${npmScope}/client`, END];
}

/** @param {import('./home.mjs').Home} home */
function verified({ repository, image, charts, npmScope }) {
  const isChosen = repository !== '' && image !== '' && charts !== '';
  const [host, folder] = isChosen ? [image, charts] : ['IMAGE', 'CHARTS'];
  const signer = `'^${(isChosen ? repository : 'https://github.com/ORG/weir').replaceAll('.', String.raw`\.`)}/\\.github/workflows/release\\.yml@refs/tags/v'`;
  const by = `--certificate-oidc-issuer https://token.actions.githubusercontent.com --certificate-identity-regexp "$signer"`;
  return [
    ...(isChosen ? [] : ['Put the names of the repository, the image and the charts in:', '']),
    SHELL,
    `signer=${signer}`,
    `cosign verify ${host}@sha256:DIGEST ${by}`,
    `cosign verify ${folder}/weir:1.2.3 ${by}`,
    `npm install ${npmScope}/weir@1.2.3 && npm audit signatures`,
    `docker buildx imagetools inspect ${host}:1.2.3 --format '{{ json .SBOM }}'`,
    END,
  ];
}
