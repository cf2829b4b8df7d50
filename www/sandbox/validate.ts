/**
 * Reads the messages of the sandbox. The user's code may have written them, so each is text of bounded length, and only
 * the fields of an answer to the question are copied out of it, all of them checked. Throws on malformed messages.
 */

import type { Answers, Graph, Request, Response, Run } from "../engine/protocol";
import type { Boot } from "../engine/worker";
import { answers as read } from "./answers";
import { type Read, record, short, whole, wrong } from "./readers";

/** Characters of one answer. A diff of a large network is some millions. */
export const LONGEST = 32_000_000;

/** A tree by its own numbers: a parent stands before its children, and versions are those that there are. */
const run: Read<Run> = (value) => {
  const run = read.run(value);
  const ids = new Set<string>();
  run.steps.forEach((item, index) => {
    if (item.parent !== null && item.parent >= index) wrong("a parent before its child");
    if (Math.max(item.before, item.after) >= run.versions) wrong("a version that there is");
    if (ids.has(item.id)) wrong("an id of its own for every step");
    ids.add(item.id);
  });
  return run;
};

/** A graph by its own numbers: edges lead between nodes, nodes stand in boxes that there are, boxes in earlier ones. */
const graph: Read<Graph> = (value) => {
  const graph = read.graph(value);
  if (graph.edges.some((node) => node >= graph.nodes.length)) wrong("an edge between nodes");
  if (graph.nodes.some((node) => node.group >= graph.groups.length)) wrong("a box that there is");
  graph.groups.forEach((group, index) => {
    if (group.parent !== null && group.parent >= index) wrong("a box inside of an earlier one");
  });
  return graph;
};

/** The readers for the sandbox's answers. Links and the catalogue are never its business. */
const answers: { [K in keyof Answers]?: Read<Answers[K]> } = { ...read, run, graph };

/** The frame has ended the worker, and why. */
export interface Ended {
  type: "ended";
  message: string;
}

/** The worker has nothing to do; it was asked whether it has. */
export interface Rest {
  type: "rest";
}

/** Reads one message. `asked` holds the questions that have no answer yet; the answered one is taken out. */
export function check(
  data: unknown,
  asked: Map<number, Request["type"]>,
): Boot | Ended | Rest | Response {
  if (typeof data !== "string") return wrong("text");
  if (data.length > LONGEST) return wrong("a shorter text");
  const message: unknown = JSON.parse(data);
  const { type } = record({ type: short(20) })(message);
  if (type === "ready" || type === "rest") return { type };
  if (type === "unready" || type === "ended") {
    return { type, ...record({ message: short(2000) })(message) };
  }
  const { id } = record({ id: whole })(message);
  const question = asked.get(id);
  if (!question) return wrong("an answer to a question");
  asked.delete(id);
  if (type === "failed") return { type, id, ...record({ message: short(2000) })(message) };
  const read = answers[question];
  if (type !== question || !read) return wrong("an answer to its question");
  const { value } = record({ value: read as Read<unknown> })(message);
  return { id, type: question, value } as Response;
}
