/** The advice for a file that was given without `--config`, for commands that take the configuration by that option. */

export function adviseOnFile(argument: string): string {
  return `give a file or a directory as --config ${argument}`;
}
