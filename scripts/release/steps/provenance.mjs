/** What a release was made from, as an in-toto statement with SLSA provenance: the digest of each artifact, the commit and the builder. */
import { join } from 'node:path';
import { sha256Of } from './record.mjs';

/** The file of the predicate alone. */
export const PREDICATE = 'provenance.predicate.json';

/** The workflow that builds a release, in the repository. */
const WORKFLOW = '.github/workflows/release.yml';

/**
 * @param {Omit<import('./record.mjs').Release, 'provenance'>} release
 * @param {{ readonly repository: string, readonly folder: string }} from
 */
export function provenanceOf({ version, commit, image, chart, packages }, { repository, folder }) {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name, GITHUB_RUN_ID: run, GITHUB_RUN_ATTEMPT: attempt } = process.env;
  const isWorkflow = server !== undefined && name !== undefined && run !== undefined;
  const files = [chart.file, ...packages.map(({ file }) => file)];
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: image.name, digest: hexOf(image.digest) },
      ...files.map((file) => ({ name: file, digest: hexOf(sha256Of(join(folder, file))) })),
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://actions.github.io/buildtypes/workflow/v1',
        externalParameters: { workflow: { ref: `refs/tags/v${version}`, repository, path: WORKFLOW } },
        resolvedDependencies: [{ uri: `git+${repository}@refs/tags/v${version}`, digest: { gitCommit: commit } }],
      },
      runDetails: {
        builder: { id: isWorkflow ? `${repository}/${WORKFLOW}@refs/tags/v${version}` : 'local' },
        ...(isWorkflow && { metadata: { invocationId: `${server}/${name}/actions/runs/${run}/attempts/${attempt ?? '1'}` } }),
      },
    },
  };
}

/** @param {string} digest As `sha256:…`. */
function hexOf(digest) {
  return { sha256: digest.replace('sha256:', '') };
}
