// Reads a pull request's checks, annotations, reviews, comments and conversations with Octokit, as any tool of GitHub's users
// would, and prints what it saw as JSON. Its arguments are in the environment: REST, TOKEN, OWNER, REPO, PULL.
import { Octokit } from "@octokit/rest";

const { REST, TOKEN, OWNER: owner, REPO: repo } = process.env;
const pull_number = Number(process.env.PULL);
const octokit = new Octokit({ auth: TOKEN, baseUrl: REST.replace(/\/$/, "") });

const { data: pull } = await octokit.rest.pulls.get({ owner, repo, pull_number });
const ref = pull.head.sha;

// Paged by Octokit itself, two at a time, so that links are followed.
const runs = await octokit.paginate(octokit.rest.checks.listForRef, { owner, repo, ref, per_page: 2 });
const annotations = [];
for (const run of runs) {
  annotations.push(...(await octokit.paginate(octokit.rest.checks.listAnnotations, { owner, repo, check_run_id: run.id, per_page: 2 })));
}
const suites = await octokit.paginate(octokit.rest.checks.listSuitesForRef, { owner, repo, ref });
const reviews = await octokit.paginate(octokit.rest.pulls.listReviews, { owner, repo, pull_number, per_page: 2 });
const notes = await octokit.paginate(octokit.rest.pulls.listReviewComments, { owner, repo, pull_number, per_page: 2 });
const comments = await octokit.paginate(octokit.rest.issues.listComments, { owner, repo, issue_number: pull_number });
const files = await octokit.paginate(octokit.rest.pulls.listFiles, { owner, repo, pull_number, per_page: 2 });
const { data: diff } = await octokit.rest.pulls.get({ owner, repo, pull_number, mediaType: { format: "diff" } });
const { data: raw } = await octokit.rest.repos.getContent({ owner, repo, path: "README.md", mediaType: { format: "raw" } });

const { repository } = await octokit.graphql(
  `query($owner: String!, $repo: String!, $number: Int!) {
    repository(owner: $owner, name: $repo) {
      pullRequest(number: $number) {
        reviewThreads(first: 50) { nodes { isResolved isOutdated path line comments(first: 50) { nodes { body author { login } } } } }
      }
    }
  }`,
  { owner, repo, number: pull_number },
);

// And what a person does: a comment and a reaction to it.
const { data: posted } = await octokit.rest.issues.createComment({ owner, repo, issue_number: pull_number, body: "/prosecute help" });
await octokit.rest.reactions.createForIssueComment({ owner, repo, comment_id: posted.id, content: "eyes" });

let missing = 0;
try {
  await octokit.rest.pulls.get({ owner, repo, pull_number: 9999 });
} catch (error) {
  missing = error.status;
}

console.log(
  JSON.stringify({
    head: ref,
    runs: runs.map((r) => ({ name: r.name, status: r.status, conclusion: r.conclusion, title: r.output.title, app: r.app.slug })),
    annotations: annotations.map((a) => ({ path: a.path, line: a.start_line, level: a.annotation_level, message: a.message })),
    suites: suites.length,
    reviews: reviews.map((r) => ({ state: r.state, body: r.body, author: r.user.login })),
    notes: notes.map((n) => ({ path: n.path, line: n.line, body: n.body, author: n.user.login, reply: n.in_reply_to_id !== undefined })),
    threads: repository.pullRequest.reviewThreads.nodes.map((t) => ({
      path: t.path,
      line: t.line,
      resolved: t.isResolved,
      outdated: t.isOutdated,
      authors: t.comments.nodes.map((c) => c.author.login),
    })),
    comments: comments.map((c) => c.body),
    files: files.map((f) => f.filename),
    diff,
    raw,
    missing,
  }),
);
