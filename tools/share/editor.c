/* Highlighting of .ptir for vim and for editors that read TextMate grammars. Operations, types and
 * attributes are those of the tables; the words of the grammar stand here. */
#include <stdio.h>
#include <string.h>

#include "share.h"

static const char controls[] =
    "ptir module enc kernel launch grid for in to step carry while do if "
    "else partition elect yield return";
static const char types[] =
#define E(id, text, ...) text " "
#include "ir/types.def"
    "tile desc tensor ptr buf ring bar token smem dsmem tmem blocked wgmma dot slice linear";
/* Words that stand in an encoding. */
static const char kinds[] = "mma order regs lanes "
                            "warps swizzle pad operand reg lane warp rank";
static const char constants[] = "true false inf nan poison";
static const char *const operations[] = {
#define OP(id, text, ...) text,
#include "ir/ops.def"
};
static const struct {
    const char *name, *words;
} attributes[] = {
#define A(id, text, kind, words, doc) {text, words},
#include "ir/attrs.def"
};

static int has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at++) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* Calls with every operation that is no word of control. */
static void for_each_operation(each_word *each, void *user)
{
    for (size_t i = 0; i < COUNT(operations); i++) {
        if (!has_word(controls, operations[i])) {
            each(user, operations[i], (int)strlen(operations[i]));
        }
    }
}

static void for_each_attribute(each_word *each, void *user)
{
    for (size_t i = 0; i < COUNT(attributes); i++) {
        each(user, attributes[i].name, (int)strlen(attributes[i].name));
    }
    for (size_t i = 0; i < COUNT(attributes); i++) {
        for_each_word(attributes[i].words, " ", each, user);
    }
    for_each_word(kinds, " ", each, user);
}

/* ---- vim ------------------------------------------------------------------------------------- */

static void vim_word(void *user, const char *word, int length)
{
    (void)user;
    printf(" %.*s", length, word);
}

void print_vim(void)
{
    printf("\" Vim syntax file: the tile IR of ptxgen, made from its tables.\n"
           "if exists(\"b:current_syntax\")\n  finish\nendif\n"
           "syntax iskeyword @,48-57,_,.\n"
           "syntax keyword ptirControl %s\n"
           "syntax keyword ptirType %s\n"
           "syntax keyword ptirConstant %s\n"
           "syntax keyword ptirOperation",
           controls, types, constants);
    for_each_operation(vim_word, NULL);
    printf("\nsyntax keyword ptirAttribute contained");
    for_each_attribute(vim_word, NULL);
    printf("\nsyntax match ptirNumber "
           "/-\\?\\<\\%%(0[xqhfd]\\x\\+\\|\\d\\+\\%%(\\.\\d\\+\\)\\?\\%%(e[-+]\\?\\d\\+"
           "\\)\\?\\)\\>/\n"
           "syntax match ptirShape /\\%%(\\d\\+x\\|?x\\)\\+\\ze\\a/ nextgroup=ptirElement\n"
           "syntax match ptirElement /\\a\\w*/ contained\n"
           "syntax match ptirValue /%%[A-Za-z0-9_.]\\+/\n"
           "syntax match ptirSymbol /@[A-Za-z0-9_.]\\+/\n"
           "syntax match ptirEncoding /#[A-Za-z0-9_.]\\+/\n"
           "syntax region ptirAttributes start=/\\[/ end=/\\]/ "
           "contains=ptirAttribute,ptirNumber,ptirValue,ptirSymbol,ptirEncoding,ptirComment\n"
           "syntax keyword ptirTodo contained TODO FIXME XXX\n"
           "syntax match ptirComment /\\/\\/.*$/ contains=ptirTodo,@Spell\n"
           "syntax region ptirBody start=/{/ end=/}/ transparent fold\n"
           "syntax sync minlines=200\n\n");
    static const char *const links[][2] = {
        {"Control", "Keyword"},    {"Type", "Type"},         {"Constant", "Constant"},
        {"Operation", "Function"}, {"Attribute", "PreProc"}, {"Number", "Number"},
        {"Shape", "Number"},       {"Element", "Type"},      {"Value", "Identifier"},
        {"Symbol", "Label"},       {"Encoding", "Macro"},    {"Todo", "Todo"},
        {"Comment", "Comment"},
    };
    for (size_t i = 0; i < COUNT(links); i++) {
        printf("highlight default link ptir%s %s\n", links[i][0], links[i][1]);
    }
    printf("\nlet b:current_syntax = \"ptir\"\n");
}

void print_vim_detect(void)
{
    printf("autocmd BufRead,BufNewFile *.ptir setfiletype ptir\n"
           "autocmd FileType ptir setlocal commentstring=//\\ %%s comments=://\n");
}

/* ---- TextMate, VS Code ----------------------------------------------------------------------- */

static void json_word(void *user, const char *word, int length)
{
    int *n = user;
    if ((*n)++ != 0) {
        putchar('|');
    }
    for (int i = 0; i < length; i++) {
        (void)fputs(word[i] == '.' ? "\\\\." : (char[]){word[i], '\0'}, stdout);
    }
}

typedef void each_list(each_word *each, void *user);

static void for_each_control(each_word *each, void *user)
{
    for_each_word(controls, " ", each, user);
}

static void for_each_type(each_word *each, void *user)
{
    for_each_word(types, " ", each, user);
}

static void for_each_constant(each_word *each, void *user)
{
    for_each_word(constants, " ", each, user);
}

/* Whole words only: a dot and a sigil belong to a word. */
static void words_rule(const char *scope, each_list *list)
{
    int n = 0;
    printf("    {\"name\": \"%s.ptir\", \"match\": \"(?<![\\\\w.%%@#])(?:", scope);
    list(json_word, &n);
    printf(")(?![\\\\w.])\"},\n");
}

void print_textmate(void)
{
    printf("{\n  \"name\": \"ptir\", \"scopeName\": \"source.ptir\", \"fileTypes\": [\"ptir\"],\n"
           "  \"patterns\": [\n"
           "    {\"name\": \"comment.line.double-slash.ptir\", \"match\": \"//.*$\"},\n"
           "    {\"begin\": \"\\\\[\", \"end\": \"\\\\]\", \"patterns\": [\n"
           "      {\"include\": \"#attributes\"}, {\"include\": \"#names\"}, "
           "{\"include\": \"#numbers\"}]},\n"
           "    {\"include\": \"#names\"},\n");
    words_rule("keyword.control", for_each_control);
    words_rule("storage.type", for_each_type);
    words_rule("constant.language", for_each_constant);
    words_rule("support.function", for_each_operation);
    words_rule("support.type", for_each_attribute);
    printf("    {\"match\": \"((?:\\\\d+x|\\\\?x)+)([a-z]\\\\w*)\", \"captures\": {\n"
           "      \"1\": {\"name\": \"constant.numeric.ptir\"}, "
           "\"2\": {\"name\": \"storage.type.ptir\"}}},\n"
           "    {\"include\": \"#numbers\"}\n  ],\n  \"repository\": {\n"
           "    \"names\": {\"patterns\": [\n"
           "      {\"name\": \"variable.other.ptir\", \"match\": \"%%[\\\\w.]+\"},\n"
           "      {\"name\": \"entity.name.function.ptir\", \"match\": \"@[\\\\w.]+\"},\n"
           "      {\"name\": \"entity.name.type.ptir\", \"match\": \"#[\\\\w.]+\"}]},\n"
           "    \"numbers\": {\"name\": \"constant.numeric.ptir\", \"match\": "
           "\"-?(?<![\\\\w.])(?:0[xqhfd][0-9A-Fa-f]+|\\\\d+(?:\\\\.\\\\d+)?(?:e[-+]?\\\\d+)?)(?!["
           "\\\\w.])\"},\n"
           "    \"attributes\": {\"name\": \"support.type.ptir\", \"match\": "
           "\"(?<![\\\\w.%%@#])(?:");
    int n = 0;
    for_each_attribute(json_word, &n);
    printf(")(?![\\\\w.])\"}\n  }\n}\n");
}

void print_vscode_package(void)
{
    printf(
        "{\n  \"name\": \"ptir\", \"displayName\": \"ptir\", \"version\": \"0.1.0\", "
        "\"publisher\": \"ptxgen\",\n"
        "  \"description\": \"The tile IR of ptxgen\", \"license\": \"Apache-2.0\",\n"
        "  \"engines\": {\"vscode\": \"^1.50.0\"}, \"categories\": [\"Programming Languages\"],\n"
        "  \"contributes\": {\n"
        "    \"languages\": [{\"id\": \"ptir\", \"extensions\": [\".ptir\"], "
        "\"configuration\": \"./language-configuration.json\"}],\n"
        "    \"grammars\": [{\"language\": \"ptir\", \"scopeName\": \"source.ptir\", "
        "\"path\": \"./ptir.tmLanguage.json\"}]\n  }\n}\n");
}

void print_vscode_settings(void)
{
    printf("{\n  \"comments\": {\"lineComment\": \"//\"},\n"
           "  \"brackets\": [[\"{\", \"}\"], [\"[\", \"]\"], [\"(\", \")\"]],\n"
           "  \"autoClosingPairs\": [[\"{\", \"}\"], [\"[\", \"]\"], [\"(\", \")\"], "
           "[\"<\", \">\"]]\n}\n");
}
