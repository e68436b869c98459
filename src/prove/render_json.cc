#include "prove/proof.h"
#include "report/json_writer.h"

namespace cloche::prove {
namespace {

void put_attack(JsonWriter& json, const Attack& attack) {
  json.member("name", attack.name);
  json.member("threat", std::string(1, letter_of(attack.threat)));
  json.member("program", attack.victim);
  json.strings("arguments", attack.args);
  json.member("tries", attack.tries);
}

void put_columns(JsonWriter& json, const Proof& proof) {
  json.name("columns").begin_array();
  for (const Column& column : proof.columns) {
    json.begin_object();
    json.member("id", column.id);
    json.member("title", column.title);
    json.end_object();
  }
  json.end_array();
  json.name("unusable").begin_array();
  for (const Skipped& one : proof.unusable) {
    json.begin_object();
    json.member("id", one.column.id);
    json.member("title", one.column.title);
    json.member("why", one.why);
    json.end_object();
  }
  json.end_array();
}

void put_summary(JsonWriter& json, const Proof& proof) {
  json.name("summary").begin_object();
  json.member("all_held", proof.all_held());
  json.member("attacks", proof.rows.size());
  const Count count = proof.count();
  for (const Verdict verdict : kVerdicts) {
    json.member(to_string(verdict), count[static_cast<std::size_t>(verdict)]);
  }
  json.member("left_out_by_grant", proof.left_out_by_grant);
  json.strings("granted_secrets", proof.granted_secrets);
  json.member("took_ms", proof.took.count());
  json.end_object();
}

}  // namespace

std::string to_json(const Proof& proof) {
  JsonWriter json;
  json.begin_object();
  json.member("version", 1);
  json.member("cloche", proof.version);
  json.member("date", proof.date);
  json.name("host").begin_object();
  for (const auto& [name, value] : proof.host) json.member(name, value);
  json.end_object();
  std::vector<std::string> notes = proof.notes;
  if (const std::string warning = warning_of(proof); !warning.empty())
    notes.insert(notes.begin(), "warning: " + warning);
  json.strings("notes", notes);
  put_columns(json, proof);
  put_summary(json, proof);
  json.name("attacks").begin_array();
  for (const Row& row : proof.rows) {
    json.begin_object();
    put_attack(json, row.attack);
    json.name("results").begin_object();
    for (std::size_t i = 0; i < row.outcomes.size(); ++i) {
      json.name(proof.columns[i].id).begin_object();
      json.member("result", to_string(row.outcomes[i].verdict));
      json.member("text", row.outcomes[i].text);
      json.member("exit_code", row.outcomes[i].exit_code);
      json.member("took_ms", row.outcomes[i].took.count());
      json.end_object();
    }
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

std::string list_to_json(const std::vector<Attack>& attacks) {
  JsonWriter json;
  json.begin_object();
  json.member("version", 1);
  json.name("attacks").begin_array();
  for (const Attack& attack : attacks) {
    json.begin_object();
    put_attack(json, attack);
    json.member("no_bwrap", attack.no_bwrap);
    json.member("no_bwrap_root", attack.no_bwrap_root);
    json.member("no_cgroups", attack.no_cgroups);
    json.member("no_process", attack.no_process);
    json.member("no_process_user", attack.no_process_user);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace cloche::prove
